//! npm, pnpm, yarn and bun.
//!
//! A tool that the base does not have is installed into the home, in the version that the repository names. Without a lockfile
//! none is written: that would be a change of the checkout.

use domain::policy::Ecosystem;

use super::{Step, tree::Place, versions};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Pnpm,
    Yarn,
    Bun,
    Npm,
}

/// A tool, and the files that it keeps. Where there are several, the earlier is the one in use: npm's is often a leftover.
const TOOLS: [(Tool, &str, &[&str]); 4] = [
    (Tool::Pnpm, "pnpm", &["pnpm-lock.yaml"]),
    (Tool::Yarn, "yarn", &["yarn.lock"]),
    (Tool::Bun, "bun", &["bun.lock", "bun.lockb"]),
    (Tool::Npm, "npm", &["npm-shrinkwrap.json", "package-lock.json"]),
];

const MANIFEST: &str = "package.json";

/// Hooks of packages that would fetch browsers and the like from elsewhere, or write into `.git`.
pub(super) const HELPERS: &str = "export HUSKY=0 CYPRESS_INSTALL_BINARY=0 PUPPETEER_SKIP_DOWNLOAD=1 PUPPETEER_SKIP_CHROMIUM_DOWNLOAD=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 ELECTRON_SKIP_BINARY_DOWNLOAD=1 COREPACK_ENABLE_DOWNLOAD_PROMPT=0 npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false\n";

pub(super) fn step(place: &Place<'_>) -> Option<Step> {
    if !place.has(MANIFEST) {
        return None;
    }
    let manifest: serde_json::Value =
        serde_json::from_str(&place.text(MANIFEST)).unwrap_or_default();
    let locked = TOOLS.iter().find_map(|(tool, _, files)| Some((*tool, place.first(files)?)));
    let is_member = place.above().is_some_and(has_workspaces);
    if locked.is_none() && (is_member || needs_nothing(place, &manifest)) {
        return None;
    }
    let text = manifest.get("packageManager").and_then(|value| value.as_str()).unwrap_or_default();
    let (name, version) = text.split_once('@').unwrap_or((text, ""));
    let declared = TOOLS.iter().find(|(_, known, _)| *known == name);
    let (tool, lockfile) = match declared {
        Some((tool, _, files)) => (*tool, place.first(files)),
        None => locked.map_or((Tool::Npm, None), |(tool, file)| (tool, Some(file))),
    };
    let install = match (tool, lockfile) {
        (Tool::Pnpm, Some(_)) => "pnpm install --frozen-lockfile",
        (Tool::Pnpm, None) => "pnpm install --no-lockfile",
        (Tool::Yarn, Some(_)) if is_classic(place) => "yarn install --frozen-lockfile",
        (Tool::Yarn, Some(_)) => "yarn install --immutable",
        (Tool::Yarn, None) => "yarn install",
        (Tool::Bun, Some(_)) => "bun install --frozen-lockfile",
        (Tool::Bun, None) => "bun install",
        (Tool::Npm, Some(_)) => "npm ci",
        (Tool::Npm, None) => "npm install --no-package-lock",
    };
    let wanted = package(tool, plain(version), lockfile, place);
    let parts = [node(place, &manifest), wanted, Some(install.to_owned())];
    let command: Vec<String> = parts.into_iter().flatten().collect();
    let files: Vec<String> =
        [Some(MANIFEST), lockfile].into_iter().flatten().map(str::to_owned).collect();
    Some(Step {
        command: command.join(" && "),
        because: files.clone(),
        lockfiles: files,
        registries: vec![Ecosystem::Npm],
    })
}

/// Installs the version of Node.js that the repository names, where the base has an older or another one.
fn node(place: &Place<'_>, manifest: &serde_json::Value) -> Option<String> {
    let wanted = versions::node(place, manifest)?;
    Some(format!(
        "{{ node -e 'process.exit(+(process.versions.node.split(\".\")[0] < {wanted}))' || npm install -g --prefix \"$HOME/.local\" node@{wanted}; }}"
    ))
}

/// Installs the tool, where the base has none.
fn package(
    tool: Tool,
    version: Option<&str>,
    lockfile: Option<&str>,
    place: &Place<'_>,
) -> Option<String> {
    let (program, package) = match tool {
        Tool::Npm => return None,
        Tool::Pnpm => {
            let lock = lockfile.map(|name| place.text(name)).unwrap_or_default();
            let is_old = lock.lines().any(|line| line.starts_with("lockfileVersion: '6"));
            let usual = if is_old { "8" } else { "9" };
            ("pnpm", format!("pnpm@{}", version.unwrap_or(usual)))
        }
        Tool::Yarn if version.is_some_and(|it| !it.starts_with("1.")) => {
            ("yarn", format!("@yarnpkg/cli-dist@{}", version.unwrap_or("4")))
        }
        // The first one hands over to the release that stands in the repository.
        Tool::Yarn if is_classic(place) || place.text(".yarnrc.yml").contains("yarnPath") => {
            ("yarn", "yarn@1".to_owned())
        }
        Tool::Yarn => ("yarn", "@yarnpkg/cli-dist@4".to_owned()),
        Tool::Bun => ("bun", format!("bun@{}", version.unwrap_or("1"))),
    };
    Some(format!(
        "{{ command -v {program} >/dev/null || npm install -g --prefix \"$HOME/.local\" {package}; }}"
    ))
}

/// A version that is nothing but numbers and dots, without the hash behind it.
fn plain(version: &str) -> Option<&str> {
    let version = version.split('+').next().unwrap_or_default();
    let is_plain = version.chars().all(|c| c.is_ascii_digit() || c == '.');
    (is_plain && version.starts_with(|c: char| c.is_ascii_digit()) && version.len() < 16)
        .then_some(version)
}

/// Whether a manifest that reads names no package, no member and nothing to be made.
fn needs_nothing(place: &Place<'_>, manifest: &serde_json::Value) -> bool {
    let is_empty = |key: &str| match manifest.get(key) {
        None => true,
        Some(value) => value.as_object().is_some_and(serde_json::Map::is_empty),
    };
    let needs = [
        "dependencies",
        "devDependencies",
        "optionalDependencies",
        "peerDependencies",
        "workspaces",
    ];
    let made = ["preinstall", "install", "postinstall", "prepare"];
    let makes = |scripts: &serde_json::Value| made.iter().any(|name| scripts.get(name).is_some());
    manifest.is_object()
        && needs.iter().all(|key| is_empty(key))
        && !manifest.get("scripts").is_some_and(makes)
        && !place.has("pnpm-workspace.yaml")
        && manifest.get("packageManager").is_none()
}

/// Yarn 1 has another flag, and another lockfile, than its successors.
fn is_classic(place: &Place<'_>) -> bool {
    let lock = place.text("yarn.lock");
    let is_berry = place.has(".yarnrc.yml") || lock.lines().any(|line| line == "__metadata:");
    !is_berry
}

/// Whether the packages below are installed from here.
fn has_workspaces(root: &Place<'_>) -> bool {
    let manifest: serde_json::Value =
        serde_json::from_str(&root.text(MANIFEST)).unwrap_or_default();
    root.has("pnpm-workspace.yaml") || manifest.get("workspaces").is_some()
}
