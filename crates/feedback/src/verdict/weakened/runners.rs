//! What runs the tests, taken over by the change: a file of its own in the runner's place, one that the runner loads by itself, or code
//! under test that reaches into it.
//!
//! Known by names and by words. Code that runs beside its tests can do anything to them, so this finds what is done openly and no more.

use std::collections::BTreeSet;

use super::{
    Found, Weakened, Weakening,
    files::{Change, Side},
    languages::Language,
};

/// Compiled files that are named; a crowd of them must not take the place of everything else.
const NAMED: usize = 20;

/// Bytes of a line that are told.
const TOLD: usize = 200;

/// Lines that are looked at of one file.
const LINES: usize = 20_000;

/// Files that are loaded without being named, wherever they are: as the whole name, or as its beginning.
const LOADED: &[(&str, &str)] = &[
    ("conftest.py", "pytest"),
    ("sitecustomize.py", "Python"),
    ("usercustomize.py", "Python"),
    ("build.rs", "Cargo"),
    ("rust-toolchain", "Cargo"),
    ("rust-toolchain.toml", "Cargo"),
    ("jest.config.*", "jest"),
    ("jest.setup.*", "jest"),
    ("setuptests.*", "jest"),
    ("vitest.*", "vitest"),
    ("vite.config.*", "vitest"),
    ("babel.config.*", "Babel"),
    (".babelrc*", "Babel"),
    (".swcrc", "SWC"),
    (".mocharc*", "mocha"),
    ("mocha.opts", "mocha"),
    ("karma.conf.*", "karma"),
    ("ava.config.*", "ava"),
    ("jasmine.json", "jasmine"),
    ("playwright.config.*", "playwright"),
    ("cypress.config.*", "cypress"),
    ("bunfig.toml", "bun"),
    ("nextest.toml", "nextest"),
    ("go.work", "go"),
    ("gradlew", "Gradle"),
    ("gradle-wrapper.properties", "Gradle"),
    ("mvnw", "Maven"),
    (".rspec", "rspec"),
    ("phpunit.xml*", "phpunit"),
];

/// The same, in a directory of this name.
const LOADED_IN: &[(&str, &str, &str)] = &[(".cargo", "config*", "Cargo"), (".mvn", "*", "Maven")];

/// Directories of installed things: a file there goes before the real one.
const INSTALLED: &[&str] = &["node_modules", "site-packages", "dist-packages", ".venv", ".tox"];

/// Python's modules that run tests. A file of that name where Python begins to look is loaded in their place.
const MODULES: &[&str] = &[
    "unittest",
    "pytest",
    "_pytest",
    "nose",
    "nose2",
    "doctest",
    "coverage",
    "tox",
    "nox",
    "xdist",
    "pluggy",
    "runpy",
    "trial",
    "hypothesis",
];

/// Keys of files for many things that say how tests are run, or which.
const KEYS: &[&str] = &[
    "addopts",
    "python_files",
    "python_classes",
    "python_functions",
    "testpaths",
    "norecursedirs",
    "collect_ignore",
    "testMatch",
    "testRegex",
    "testRunner",
    "setupFiles",
    "setupFilesAfterEnv",
    "globalSetup",
    "moduleNameMapper",
    "harness",
    "autotests",
    "doctest",
];

/// Frameworks whose import has nothing to do in code that is no test.
const FRAMEWORKS: &[(Language, &[&str])] = &[
    (Language::Python, &["unittest", "pytest", "_pytest", "nose", "nose2"]),
    (
        Language::JavaScript,
        &["jest", "@jest/globals", "vitest", "mocha", "chai", "jasmine", "node:test"],
    ),
    (Language::Go, &["testing"]),
    (Language::Java, &["org.junit", "org.testng"]),
];

pub(super) fn compare(change: &Change<'_>, found: &mut Found) {
    let (old, new) = (change.old.as_ref(), change.new.as_ref());
    let Some(side) = new.or(old) else { return };
    let is_same =
        old.zip(new).is_some_and(|(old, new)| (old.path, old.text) == (new.path, new.text));
    if is_same {
        return;
    }
    if let Some(what) = loaded(side.path) {
        found.add(Weakened::new(Weakening::RunnerTouched, side.path, None, &what));
    }
    let Some(new) = new else { return };
    for (line, what) in keys(old, new).into_iter().chain(reaches_in(old, new)) {
        // Somebody has a better word for this very line.
        let is_told = found
            .weakened
            .iter()
            .any(|it| it.file.as_str() == new.path && it.line == u32::try_from(line).ok());
        if !is_told {
            found.add(Weakened::new(Weakening::RunnerTouched, new.path, Some(line), &what));
        }
    }
}

/// Compiled files of a change, each with what it is for: a check may run them, and nobody can read them.
pub fn not_sources<'a>(compiled: impl Iterator<Item = (&'a str, &'a str)>) -> Found {
    let mut found = Found::default();
    for (path, what) in compiled {
        if found.weakened.len() == NAMED {
            found.left_off += 1;
            continue;
        }
        let what = format!("it is compiled ({what}), and can be run instead of a source");
        found.add(Weakened::new(Weakening::NotSource, path, None, &what));
    }
    found
}

/// Who loads a file of this name without being told to.
pub(super) fn loaded(path: &str) -> Option<String> {
    let lower = path.to_lowercase();
    let parts: Vec<&str> = lower.split('/').collect();
    let (name, directories) = parts.split_last()?;
    if let Some(directory) = INSTALLED.iter().find(|it| directories.contains(it)) {
        return Some(format!("what is in `{directory}` goes before what was installed"));
    }
    let by_name = LOADED.iter().find(|(pattern, _)| is_like(name, pattern)).map(|(_, who)| who);
    let by_place = || {
        let is_in = |directory: &str| directories.last() == Some(&directory);
        let found =
            LOADED_IN.iter().find(|(place, pattern, _)| is_in(place) && is_like(name, pattern));
        found.map(|(_, _, who)| who)
    };
    if let Some(who) = by_name.or_else(by_place) {
        return Some(format!("{who} loads it by itself"));
    }
    let module = match (name.strip_suffix(".py"), directories) {
        // Packages are looked at only where Python begins: `tests/unittest/` is a usual name for a directory of tests.
        (Some("__init__" | "__main__"), [package] | ["src" | "lib", package]) => *package,
        (Some(module), [] | ["src" | "lib"]) | (Some(module @ ("unittest" | "pytest")), _) => {
            module
        }
        (Some(_) | None, _) => return None,
    };
    MODULES.contains(&module).then(|| format!("it can be loaded in the place of `{module}`"))
}

/// A pattern is a name, or a beginning and `*`.
fn is_like(name: &str, pattern: &str) -> bool {
    pattern.strip_suffix('*').map_or(name == pattern, |start| name.starts_with(start))
}

/// New lines with a key that says how tests are run.
fn keys(old: Option<&Side<'_>>, new: &Side<'_>) -> Vec<(usize, String)> {
    let name = new.path.rsplit('/').next().unwrap_or(new.path);
    let is_for_tests = [
        "pyproject.toml",
        "setup.cfg",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "package.json",
        "Cargo.toml",
    ];
    let is_go = name.ends_with("_test.go");
    if !is_for_tests.contains(&name) && !is_go {
        return Vec::new();
    }
    let known = trimmed(old);
    let says = |line: &&str| {
        if is_go {
            return line.starts_with("func TestMain(");
        }
        let key = line.split(['=', ':']).next().unwrap_or_default();
        line.contains(['=', ':']) && KEYS.contains(&key.trim().trim_matches('"'))
    };
    let lines = (1..).zip(new.text.lines().map(str::trim)).take(LINES);
    let told = lines.filter(|(_, line)| says(line) && !known.contains(line));
    told.map(|(at, line)| (at, format!("`{}` is new", shortened(line)))).collect()
}

/// Test frameworks that code begins to use which is no test.
fn reaches_in(old: Option<&Side<'_>>, new: &Side<'_>) -> Option<(usize, String)> {
    let language = Language::of(new.path).filter(|language| !language.has_tests(new.path))?;
    let (_, frameworks) = FRAMEWORKS.iter().find(|(of, _)| *of == language)?;
    let is_known = |framework: &str| {
        old.is_some_and(|old| old.text.lines().take(LINES).any(|line| imports(line, framework)))
    };
    let fresh: Vec<&str> = frameworks.iter().copied().filter(|it| !is_known(it)).collect();
    (1..).zip(new.text.lines()).take(LINES).find_map(|(at, line)| {
        let framework = fresh.iter().find(|framework| imports(line, framework))?;
        Some((at, format!("`{framework}` is used by code that is no test")))
    })
}

/// Whether a line brings a module in, in one of the many ways: an import, a call that imports, a look among those that are loaded. Go's
/// imports stand alone in quotes.
fn imports(line: &str, module: &str) -> bool {
    let line = line.trim();
    if line.starts_with('#') || line.starts_with("//") || line.starts_with('*') {
        return false;
    }
    let is_part = |letter: char| letter.is_alphanumeric() || "_@/:-".contains(letter);
    let is_whole = |(at, _): (usize, &str)| {
        let before = line.get(..at).and_then(|it| it.chars().next_back());
        let after = line.get(at + module.len()..).and_then(|it| it.chars().next());
        !before.is_some_and(|letter| is_part(letter) || letter == '.')
            && !after.is_some_and(is_part)
    };
    let brings = ["import", "require", "modules", "from '", "from \""]
        .iter()
        .any(|word| line.contains(word));
    let stands_alone = line == format!("\"{module}\"");
    (brings && line.match_indices(module).any(is_whole)) || stands_alone
}

fn trimmed<'a>(side: Option<&Side<'a>>) -> BTreeSet<&'a str> {
    side.map_or_else(BTreeSet::new, |side| side.text.lines().map(str::trim).collect())
}

fn shortened(line: &str) -> &str {
    line.get(..line.floor_char_boundary(TOLD)).unwrap_or_default()
}
