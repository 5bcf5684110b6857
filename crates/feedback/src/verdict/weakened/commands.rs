//! Commands that run checks, made to succeed whatever happens, or to leave tests out.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Found, Weakened, Weakening,
    files::{Change, Files},
};

/// Longer lines are not written by hand.
const LINE_BYTES: usize = 2_000;

/// Marks that are about checks wherever they stand.
const ALWAYS: &[&str] = &[
    "passWithNoTests",
    "pass-with-no-tests",
    "--no-tests=pass",
    "--no-tests pass",
    "--exit-zero",
    "-DskipTests",
    "maven.test.skip",
    "skipTests>true",
    "testFailureIgnore",
    "ignoreFailures = true",
    "ignoreFailures=true",
    "--deselect",
    "continue-on-error: true",
    "--suppress-no-test-exit-code",
    "--forceExit",
];
/// Marks that matter on a line that runs a check.
const BESIDE_A_CHECK: &[&str] = &[
    "|| true",
    "||true",
    "|| :",
    "|| exit 0",
    "; exit 0",
    "; true",
    "|| echo",
    "--ignore=",
    "--ignore-glob",
    "--skip ",
    "--exclude",
    "-k \"not ",
    "-k 'not ",
    "--testPathIgnorePatterns",
    "-x test",
];
const CHECKS: &[&str] = &[
    "test", "tests", "lint", "check", "clippy", "pytest", "jest", "vitest", "mocha", "eslint",
    "tsc", "mypy", "ruff", "vet", "tox", "nox", "nextest", "verify", "fmt", "flake8", "pylint",
    "golangci", "ctest", "unittest", "rspec", "phpunit", "ava", "bats", "trial",
];

/// The tolerant lines that were there before, in any of the changed files: one that is new in a file may only have moved.
pub(super) struct Before<'a>(BTreeSet<&'a str>);

impl<'a> Before<'a> {
    pub(super) fn of(files: &Files<'a>) -> Self {
        let old = files.changes.iter().filter_map(|change| change.old.as_ref());
        let lines = old.filter(|side| runs_commands(side.path)).flat_map(|side| {
            side.text.lines().filter(|line| tolerant(line, side.path).is_some()).map(str::trim)
        });
        Self(lines.collect())
    }
}

pub(super) fn compare(change: &Change<'_>, before: &Before<'_>, found: &mut Found) {
    // What is new altogether weakens nothing that was there.
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return };
    if !runs_commands(new.path) {
        return;
    }
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in old.text.lines() {
        *known.entry(line.trim()).or_default() += 1;
    }
    for (index, line) in new.text.lines().enumerate() {
        let said = line.trim();
        if let Some(count) = known.get_mut(said).filter(|count| **count > 0) {
            *count -= 1;
            continue;
        }
        let has_moved = !known.contains_key(said) && before.0.contains(said);
        let Some(mark) = tolerant(line, new.path).filter(|_| !has_moved) else { continue };
        let what = format!("`{}` in `{said}`", mark.trim());
        found.add(Weakened::new(Weakening::CommandTolerant, new.path, Some(index + 1), &what));
    }
}

/// The words of a line without what lets it fail unseen: to take that away is no loss.
pub(super) fn without_marks(line: &str) -> String {
    let line =
        ["||", ";"].iter().fold(line, |line, joint| line.split(joint).next().unwrap_or(line));
    let is_mark = |word: &str| ALWAYS.iter().any(|mark| word.contains(mark));
    line.split_whitespace().filter(|word| !is_mark(word)).collect::<Vec<_>>().join(" ")
}

pub(super) fn tolerant(line: &str, path: &str) -> Option<&'static str> {
    let said = line.trim();
    if said.len() > LINE_BYTES || said.starts_with('#') || said.starts_with("//") {
        return None;
    }
    let find = |marks: &[&'static str]| marks.iter().find(|mark| said.contains(**mark)).copied();
    if let Some(mark) = find(ALWAYS) {
        return Some(mark);
    }
    let is_check =
        said.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| CHECKS.contains(&word));
    if !is_check {
        return None;
    }
    // A dash before a command tells make that its failure is none.
    let is_makefile = path.to_ascii_lowercase().ends_with("makefile");
    let is_ignored =
        is_makefile && line.starts_with('\t') && said.trim_start_matches('@').starts_with('-');
    find(BESIDE_A_CHECK).or(is_ignored.then_some("-"))
}

/// Whether a file of this name says how checks are run.
pub(super) fn runs_commands(path: &str) -> bool {
    const NAMES: &[&str] = &[
        "makefile",
        "gnumakefile",
        "justfile",
        ".justfile",
        "package.json",
        "tox.ini",
        "noxfile.py",
        "setup.cfg",
        "pyproject.toml",
        "pytest.ini",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        ".gitlab-ci.yml",
        "jenkinsfile",
        "nextest.toml",
        ".travis.yml",
        ".pre-commit-config.yaml",
        "azure-pipelines.yml",
        "lefthook.yml",
    ];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_workflow = path.starts_with(".github/") || path.starts_with(".circleci/");
    let is_config = ["jest.config.", "vitest.config.", "vite.config.", "karma.conf."]
        .iter()
        .any(|start| name.starts_with(start));
    NAMES.contains(&name.as_str())
        || is_workflow
        || is_config
        || [".sh", ".mk"].iter().any(|ending| name.ends_with(ending))
}
