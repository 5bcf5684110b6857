//! What the name of a target, a script or a check promises.

use super::check::Kind;

/// A name is a sentence of words: `test:unit`, `check-format`, `lint_all`. One word that speaks of writing, publishing or staying alive
/// makes it something else than a check.
pub(super) fn kind_of(name: &str) -> Option<Kind> {
    const NEVER: &[&str] = &[
        "deploy",
        "publish",
        "release",
        "push",
        "upload",
        "watch",
        "dev",
        "serve",
        "start",
        "clean",
        "install",
        "update",
        "fix",
        "bless",
        "write",
        "debug",
        "bench",
        "benchmark",
        "benchmarks",
        "docker",
        "image",
        "e2e",
        "data",
        "setup",
        "prepare",
        "deps",
        "help",
        "snapshot",
        "snapshots",
        "generate",
        "gen",
        "ui",
        "open",
        "coverage",
        "cov",
        "fuzz",
        "external",
        "downstream",
    ];
    const TEST: &[&str] = &[
        "test",
        "tests",
        "spec",
        "specs",
        "unittest",
        "unittests",
        "pytest",
        "jest",
        "vitest",
        "nextest",
        "runtests",
        "testsuite",
    ];
    const LINT: &[&str] = &[
        "lint",
        "lints",
        "linter",
        "clippy",
        "eslint",
        "vet",
        "typecheck",
        "types",
        "type",
        "tsc",
        "mypy",
        "pyright",
        "ruff",
        "pylint",
        "flake8",
        "static",
        "analyze",
        "analyse",
        "shellcheck",
        "golangci",
        "biome",
        "oxlint",
    ];
    const FORMAT: &[&str] =
        &["fmt", "format", "formatting", "prettier", "black", "rustfmt", "gofmt"];
    const BUILD: &[&str] = &["build", "compile"];
    let lower = name.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let checks = has(&["check", "checks", "verify"]);
    if has(NEVER) {
        None
    } else if has(FORMAT) {
        // A target that formats writes files. Only one that says it checks is a check.
        checks.then_some(Kind::Format)
    } else if has(LINT) {
        Some(Kind::Lint)
    } else if has(TEST) {
        Some(Kind::Test)
    } else if has(BUILD) {
        Some(Kind::Build)
    } else {
        // `check` alone is what most projects call everything together.
        (checks && words.len() == 1).then_some(Kind::Test)
    }
}

/// What a file promises that is run: by its own name, or by the directory that it lies in.
pub(super) fn kind_of_file(path: &str) -> Option<Kind> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_tests = matches!(directory.split('/').next(), Some("test" | "tests" | "spec"));
    kind_of(stem).or_else(|| is_tests.then_some(Kind::Test))
}
