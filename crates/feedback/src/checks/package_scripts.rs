//! The scripts of a `package.json`, and who runs them.

use serde_json::{Map, Value};

use super::{
    check::{Directory, Kind},
    names, targets,
    tree::Survey,
};

const SCRIPTS_LIMIT: usize = 200;

/// Who runs scripts here. Only npm runs the hooks of a script (`pretest`, `posttest`) for sure, and can be told not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl Manager {
    /// By the lock file here or above, the nearest first.
    pub(super) fn of(survey: &Survey, directory: &Directory) -> Self {
        const LOCKS: &[(&str, Manager)] = &[
            ("pnpm-lock.yaml", Manager::Pnpm),
            ("yarn.lock", Manager::Yarn),
            ("bun.lock", Manager::Bun),
            ("bun.lockb", Manager::Bun),
            ("package-lock.json", Manager::Npm),
            ("npm-shrinkwrap.json", Manager::Npm),
        ];
        let places = std::iter::once(directory.clone()).chain(directory.above());
        let locked =
            places.filter_map(|place| LOCKS.iter().find(|(lock, _)| survey.has(&place, lock)));
        locked.map(|(_, manager)| *manager).next().unwrap_or(Self::Npm)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }
}

/// One `package.json`.
pub(super) struct Package {
    manifest: Map<String, Value>,
    pub(super) manager: Manager,
}

impl Package {
    pub(super) fn at(survey: &Survey, directory: &Directory) -> Option<Self> {
        let manifest = parse(survey.text(directory, "package.json")?)?;
        Some(Self { manifest, manager: Manager::of(survey, directory) })
    }

    pub(super) fn body(&self, script: &str) -> Option<&str> {
        let body = self.manifest.get("scripts")?.as_object()?.get(script)?.as_str()?;
        (!is_nothing(body)).then_some(body)
    }

    /// Whether scripts here run those of packages below.
    pub(super) fn has_workspaces(&self) -> bool {
        self.manifest.contains_key("workspaces")
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = (&str, Kind)> {
        scripts(&self.manifest)
    }
}

pub(super) fn parse(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(manifest)) => Some(manifest),
        Ok(_) | Err(_) => None,
    }
}

/// The scripts that are checks. Where one is named by a bare word, its variants (`test:unit`, `tests-only`) are parts of it.
pub(super) fn scripts(manifest: &Map<String, Value>) -> impl Iterator<Item = (&str, Kind)> {
    let scripts = manifest.get("scripts").and_then(Value::as_object);
    let named = move || scripts.into_iter().flatten().take(SCRIPTS_LIMIT);
    named().filter_map(move |(name, body)| {
        let body = body.as_str()?;
        let kind = names::kind_of(name)?;
        let first = name.split(':').next().unwrap_or(name);
        let whole = match kind {
            Kind::Test => "test",
            Kind::Build | Kind::Format | Kind::Lint => first,
        };
        let is_part = whole != name
            && named().any(|(other, body)| {
                other == whole
                    && names::kind_of(other) == Some(kind)
                    && body.as_str().is_some_and(|body| !is_nothing(body))
            });
        let is_check = targets::is_typable(name) && !is_part && !is_nothing(body);
        is_check.then_some((name.as_str(), kind))
    })
}

/// `npm init` writes a test that says that there is none.
fn is_nothing(body: &str) -> bool {
    let body = body.trim();
    body.is_empty() || body.contains("no test specified") || matches!(body, "true" | "exit 0" | ":")
}

/// Scripts of another manifest whose names promise checks, whatever their bodies look like.
pub(super) fn named(manifest: &Map<String, Value>) -> Vec<(&str, Kind)> {
    let scripts = manifest.get("scripts").and_then(Value::as_object);
    let names = scripts.into_iter().flatten().take(SCRIPTS_LIMIT);
    let has = |name: &str| scripts.is_some_and(|scripts| scripts.contains_key(name));
    names
        .filter(|(name, _)| targets::is_typable(name))
        .filter_map(|(name, _)| Some((name.as_str(), names::kind_of(name)?)))
        .filter(|(name, kind)| *kind != Kind::Test || *name == "test" || !has("test"))
        .collect()
}
