//! uv, poetry and pip, in a virtual environment beside the checkout.
//!
//! The system's Python is not to be changed (PEP 668), and nothing of an environment belongs into the working tree. So there is one
//! environment in the home, which every sandbox on the image has first in its `PATH`.

use domain::policy::Ecosystem;

use super::{EntryKind, Step, toml, tree::Place, versions};

const PROJECT: &str = "pyproject.toml";

/// Extras and groups that a maintainer installs to work on a project.
const FOR_WORK: [&str; 9] =
    ["test", "tests", "testing", "dev", "develop", "development", "lint", "typing", "mypy"];

/// Helpers of every script that installs something of Python. `venv PYTHON DIRECTORY` also works where the system has no `ensurepip`.
pub(super) const HELPERS: &str = r#"venv() { [ -x "$2/bin/pip" ] || "$1" -m venv "$2" || { rm -rf "$2" && "$1" -m venv --without-pip "$2" && "$1" -m pip --python "$2/bin/python" install -q pip; }; }
tool() { command -v "$1" >/dev/null || { venv python3 "$HOME/.local/lib/$1" && "$HOME/.local/lib/$1/bin/pip" install -q "$1" && mkdir -p "$HOME/.local/bin" && ln -sf "$HOME/.local/lib/$1/bin/$1" "$HOME/.local/bin/$1"; }; }
export VIRTUAL_ENV="$HOME/.venv" UV_PROJECT_ENVIRONMENT="$HOME/.venv" UV_PYTHON_DOWNLOADS=never PIP_DISABLE_PIP_VERSION_CHECK=1 PATH="$HOME/.venv/bin:$PATH"
"#;

pub(super) fn step(place: &Place<'_>) -> Option<Step> {
    let project = place.text(PROJECT);
    if place.has("uv.lock") || toml::has(&project, "tool.uv") && !place.has("poetry.lock") {
        let lockfile = place.first(&["uv.lock"]);
        let frozen = if lockfile.is_some() { " --frozen" } else { "" };
        let command =
            format!("tool uv && uv sync{frozen}{}", wanted(&project, ["--extra", "--group"]));
        return Some(locked(command, lockfile, place));
    }
    if place.has("poetry.lock") || toml::has(&project, "tool.poetry") {
        let lockfile = place.first(&["poetry.lock"]);
        let extras = for_work(&project, &["tool.poetry.extras", "project.optional-dependencies"]);
        let extras: Vec<String> = extras.iter().map(|it| format!(" --extras {it}")).collect();
        let groups = FOR_WORK
            .iter()
            .filter(|name| toml::has(&project, &format!("tool.poetry.group.{name}.dependencies")));
        let groups: Vec<String> = groups.map(|name| format!(" --with {name}")).collect();
        let made = make(place, &project);
        let command = format!(
            "{made} && tool poetry && poetry install --no-interaction{}{}",
            extras.concat(),
            groups.concat()
        );
        return Some(locked(command, lockfile, place));
    }
    pip(place, &project)
}

fn locked(command: String, lockfile: Option<&str>, place: &Place<'_>) -> Step {
    let manifest = place.first(&[PROJECT]);
    let files: Vec<String> =
        [manifest, lockfile].into_iter().flatten().map(str::to_owned).collect();
    Step { command, because: files.clone(), lockfiles: files, registries: vec![Ecosystem::Pypi] }
}

/// Makes the environment, with a Python that the project allows.
fn make(place: &Place<'_>, project: &str) -> String {
    let named = versions::python(place).or_else(|| place.above().and_then(versions::python));
    let named = named.map(|minor| format!("python3.{minor} ")).unwrap_or_default();
    let least = versions::least_python(project).unwrap_or(0);
    let newer: Vec<String> = (9..=14).rev().map(|minor| format!("python3.{minor}")).collect();
    format!(
        "for python in {named}python3 {} python3; do command -v \"$python\" >/dev/null && \"$python\" -c 'import sys; sys.exit(sys.version_info < (3, {least}))' && break || true; done && venv \"$python\" \"$HOME/.venv\"",
        newer.join(" ")
    )
}

/// The extras and groups for work, as options of uv.
fn wanted(project: &str, [extra, group]: [&str; 2]) -> String {
    let extras = for_work(project, &["project.optional-dependencies"]);
    let groups = for_work(project, &["dependency-groups"]);
    let extras = extras.iter().map(|name| format!(" {extra} {name}"));
    // The group `dev` is there anyway, and may be turned off on purpose.
    let groups = groups.iter().filter(|name| *name != "dev").map(|name| format!(" {group} {name}"));
    extras.chain(groups).collect()
}

fn for_work(project: &str, sections: &[&str]) -> Vec<String> {
    let keys = sections.iter().flat_map(|section| toml::keys(project, section));
    let mut found: Vec<String> =
        keys.filter(|key| FOR_WORK.contains(key)).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

fn pip(place: &Place<'_>, project: &str) -> Option<Step> {
    let is_project = toml::has(project, "project") || toml::has(project, "build-system");
    let mut files = requirements(place);
    let mut wanted: Vec<String> = files
        .iter()
        .map(|file| format!("-r {}", domain::shell::quoted(&format!("./{file}"))))
        .collect();
    let package =
        place.first(&["setup.py", PROJECT]).filter(|name| *name == "setup.py" || is_project);
    let groups = for_work(project, &["dependency-groups"]);
    if package.is_some() {
        let extras = extras(place, project);
        let extras =
            if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        wanted.push(format!("-e {}", domain::shell::quoted(&format!(".{extras}"))));
    }
    if wanted.is_empty() && groups.is_empty() {
        return None;
    }
    for name in [PROJECT, "setup.py", "setup.cfg"] {
        if place.has(name) {
            files.push(name.to_owned());
        }
    }
    let mut command = make(place, project);
    if !groups.is_empty() {
        // Older ones do not know groups.
        command.push_str(" && python -m pip install -q --upgrade pip");
        wanted.extend(groups.iter().map(|name| format!("--group {name}")));
    }
    command = format!("{command} && python -m pip install -q {}", wanted.join(" "));
    let tools = tools(place, project);
    if !tools.is_empty() {
        // Only what the project did not bring itself, in its own versions.
        command = format!(
            "{command} && for name in {}; do [ -x \"$HOME/.venv/bin/$name\" ] || python -m pip install -q \"$name\" || exit 1; done",
            tools.join(" ")
        );
    }
    Some(Step {
        command,
        because: files.clone(),
        lockfiles: files,
        registries: vec![Ecosystem::Pypi],
    })
}

/// Files with requirements for work on the project, in the directory and in `requirements` below it.
fn requirements(place: &Place<'_>) -> Vec<String> {
    let is_wanted = |name: &str| {
        let Some(stem) = name.strip_suffix(".txt") else { return false };
        let starts = stem.starts_with("requirements");
        let for_work = ["dev", "test", "tests"]
            .iter()
            .any(|it| stem == format!("{it}-requirements") || stem == format!("{it}_requirements"));
        (starts || for_work) && !stem.contains("doc")
    };
    let mut files: Vec<String> =
        place.names(EntryKind::File).filter(|name| is_wanted(name)).map(str::to_owned).collect();
    let below = place.listed("requirements");
    let mut more: Vec<String> = below
        .iter()
        .filter(|name| name.strip_suffix(".txt").is_some_and(|stem| FOR_WORK.contains(&stem)))
        .map(|name| format!("requirements/{name}"))
        .collect();
    more.sort();
    files.extend(more);
    files
}

/// Extras for work, of `pyproject.toml`, `setup.cfg` or `setup.py`.
fn extras(place: &Place<'_>, project: &str) -> Vec<String> {
    let mut found = for_work(project, &["project.optional-dependencies"]);
    found.extend(for_work(&place.text("setup.cfg"), &["options.extras_require"]));
    let script = place.text("setup.py");
    if let Some((_, declared)) = script.split_once("extras_require") {
        let is_there = |name: &&&str| {
            declared.contains(&format!("\"{name}\":")) || declared.contains(&format!("'{name}':"))
        };
        found.extend(FOR_WORK.iter().filter(is_there).map(|name| (*name).to_owned()));
    }
    found.sort();
    found.dedup();
    found
}

/// Programs that the project's settings are for, so that its checks call them.
fn tools(place: &Place<'_>, project: &str) -> Vec<&'static str> {
    let (tox, config) = (place.text("tox.ini"), place.text("setup.cfg"));
    let has_tests = place.names(EntryKind::Directory).any(|name| matches!(name, "test" | "tests"))
        || place
            .names(EntryKind::File)
            .any(|name| name.starts_with("test_") && name.strip_suffix(".py").is_some());
    let pytest = has_tests
        || place.first(&["pytest.ini", "conftest.py"]).is_some()
        || toml::has(project, "tool.pytest")
        || toml::has(&tox, "pytest")
        || toml::has(&config, "tool:pytest");
    let rows = [
        ("pytest", pytest),
        ("tox", place.has("tox.ini") || toml::has(project, "tool.tox")),
        ("nox", place.has("noxfile.py")),
        (
            "ruff",
            place.first(&["ruff.toml", ".ruff.toml"]).is_some() || toml::has(project, "tool.ruff"),
        ),
        (
            "mypy",
            place.has("mypy.ini") || toml::has(project, "tool.mypy") || toml::has(&config, "mypy"),
        ),
        ("black", toml::has(project, "tool.black")),
        (
            "flake8",
            place.has(".flake8") || toml::has(&tox, "flake8") || toml::has(&config, "flake8"),
        ),
    ];
    rows.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name).collect()
}
