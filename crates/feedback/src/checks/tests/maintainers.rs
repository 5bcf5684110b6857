//! What somebody who knows a project would run, on small trees that look like real ones.

use super::{super::look, commands, files};

#[test]
fn a_special_variant_of_ci_never_displaces_the_plain_test() {
    let workflow = |steps: &str| {
        format!("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n{steps}")
    };
    let cargo = ("Cargo.toml", "[package]\n");
    for (step, beside) in [
        ("RUSTFLAGS=\"--cfg loom\" cargo test --lib", None),
        ("LOOM_MAX_PREEMPTIONS=2 cargo test", None),
        ("cargo miri test", None),
        ("cargo +nightly test", None),
        ("cargo test --target i686-unknown-linux-gnu", None),
        ("cargo test --lib", Some("cargo test --lib")),
        ("cargo test -p core", Some("cargo test -p core")),
        ("cargo test only_this_one", Some("cargo test only_this_one")),
        ("cargo test --features serde", Some("cargo test --features serde")),
        ("cargo test --no-default-features", Some("cargo test --no-default-features")),
    ] {
        let text = workflow(&format!("      - run: {step}\n"));
        let found = commands(&[(".github/workflows/a.yml", &text), cargo]);
        let tests: Vec<&String> = found.iter().filter(|it| it.contains("test")).collect();
        let plain = ".: cargo test".to_owned();
        let beside = beside.map(|it| format!(".: {it}"));
        let expected: Vec<&String> = beside.iter().chain([&plain]).collect();
        assert_eq!(tests, expected, "{step}");
    }
    // The plain one may be spelled with taste.
    for step in [
        "cargo test --verbose",
        "cargo test --locked --no-fail-fast",
        "RUSTFLAGS=-Dwarnings cargo test",
    ] {
        let text = workflow(&format!("      - run: {step}\n"));
        let found = commands(&[(".github/workflows/a.yml", &text), cargo]);
        let tests: Vec<&String> = found.iter().filter(|it| it.contains("test")).collect();
        assert_eq!(tests, [&format!(".: {step}")], "{step}");
    }
    let go = ("go.mod", "module x");
    let text = workflow(
        "      - run: go test -tags integration ./...\n      - run: go test -run TestA ./a\n",
    );
    let found = commands(&[(".github/workflows/a.yml", &text), go]);
    assert!(found.contains(&".: go test ./...".to_owned()), "{found:?}");
    let python = ("pytest.ini", "[pytest]\n");
    let text = workflow("      - run: pytest -m slow\n      - run: pytest tests/test_one.py\n");
    let found = commands(&[(".github/workflows/a.yml", &text), python]);
    assert!(found.contains(&".: python3 -m pytest".to_owned()), "{found:?}");
}

#[test]
fn another_toolchain_or_system_of_ci_is_left_out_and_says_so() {
    let text = "\
on: [push, pull_request]
env: { pinned: nightly-2024-01-01 }
jobs:
  old:
    runs-on: ubuntu-latest
    steps:
      - uses: someone/rust-toolchain@1.60.0
      - run: cargo build
  odd:
    runs-on: ubuntu-latest
    steps:
      - run: rustup default $pinned
      - run: RUSTFLAGS=\"--cfg loom\" cargo test --lib
  all:
    strategy:
      matrix:
        rust: [nightly, stable, beta]
        os: [windows-latest, ubuntu-latest]
        include: [{ rust: nightly, benches: true }]
    runs-on: ${{ matrix.os }}
    steps:
      - uses: someone/rust-toolchain@master
        with: { toolchain: \"${{ matrix.rust }}\" }
      - run: cargo test
      - if: matrix.benches
        run: cargo test --benches
      - if: runner.os == 'Windows'
        run: cargo test --release
";
    let found = look(&files(&[(".github/workflows/a.yml", text), ("Cargo.toml", "[package]\n")]));
    let run: Vec<&str> = found.checks.iter().map(|check| check.command.as_str()).collect();
    assert_eq!(run, ["cargo test"]);
    assert_eq!(found.checks[0].why.to_string(), "CI runs it (`.github/workflows/a.yml`, line 24)");
    let left: Vec<String> =
        found.left_out.iter().map(|it| format!("{}: {}", it.command, it.reason)).collect();
    assert_eq!(
        left,
        [
            "cargo build: CI runs it with the toolchain `1.60.0` (`.github/workflows/a.yml`, line 8)",
            "RUSTFLAGS=\"--cfg loom\" cargo test --lib: CI runs it with the toolchain `nightly` (`.github/workflows/a.yml`, line 13)",
            "cargo test --benches: its condition does not hold here: `matrix.benches` (`.github/workflows/a.yml`, line 26)",
            "cargo test --release: its condition does not hold here: `runner.os == 'Windows'` (`.github/workflows/a.yml`, line 28)",
            "cargo fmt --check: CI runs `cargo test` of `.github/workflows/a.yml` and not this",
            "cargo clippy --all-targets: CI runs `cargo test` of `.github/workflows/a.yml` and not this",
        ]
    );
}

#[test]
fn scripts_that_ci_calls_are_followed_one_level() {
    let ci = |run: &str| format!("on: push\njobs: {{ a: {{ steps: [ {{ run: {run} }} ] }} }}\n");
    let script = "\
#!/bin/bash
set -ex
what=\"${1:-build}\"
cargo hack \"${what}\" --each-feature
cargo \"${what}\" --all-features
if [[ -n \"$NIGHTLY\" ]]; then
  cargo check --benches
fi
";
    let cargo = ("Cargo.toml", "[package]\n");
    let with = |run: &str| {
        commands(&[(".github/workflows/a.yml", &ci(run)), ("ci/stable.sh", script), cargo])
    };
    assert_eq!(with("ci/stable.sh test"), [".: cargo test --all-features", ".: cargo test"]);
    assert_eq!(with("bash -e ci/stable.sh test").len(), 2);
    assert_eq!(with("ci/stable.sh"), [".: cargo build --all-features", ".: cargo test"]);
    let plain = "cd web\nnpm run lint\nnpm test\n";
    let found = commands(&[
        (".github/workflows/a.yml", &ci("./scripts/check.sh")),
        ("scripts/check.sh", plain),
        ("web/package.json", r#"{"scripts": {"test": "mocha", "lint": "eslint ."}}"#),
    ]);
    assert_eq!(found, ["web: npm run lint", "web: npm test"]);
    // One that sets something up for its commands is run as it is, and so is one that cannot be read.
    let setting = ("scripts/check.sh", "export DATABASE=here\npytest\n");
    let found = commands(&[(".github/workflows/a.yml", &ci("./scripts/check.sh")), setting]);
    assert_eq!(found, [".: ./scripts/check.sh"]);
    let tests = [
        ("test_parse.py", "import unittest\n"),
        (".github/workflows/a.yml", &ci("python test_parse.py")),
    ];
    assert_eq!(commands(&tests), [".: python test_parse.py"]);
}

#[test]
fn doubles_of_package_scripts_are_one() {
    let package =
        |scripts: &str| commands(&[("package.json", &format!("{{\"scripts\": {{{scripts}}}}}"))]);
    for (scripts, expected) in [
        // A linter after the tests, by three names.
        (
            r#""test": "tap", "posttest": "npm run lint", "lint": "npm run eslint", "eslint": "eslint .", "postlint": "some-audit""#,
            &[".: npm run eslint", ".: npm run test --ignore-scripts"][..],
        ),
        // An alias, with a linter before it.
        (
            r#""pretest": "npm run lint", "test": "npm run tests-only", "tests-only": "nyc tape x.js", "lint": "eslint .""#,
            &[".: npm run lint", ".: npm run tests-only"],
        ),
        // What comes before may be needed.
        (r#""pretest": "node make-fixtures.js", "test": "tape x.js""#, &[".: npm run test"]),
        (
            r#""ci": "npm run lint && npm run test", "lint": "eslint .", "test": "jest""#,
            &[".: npm run lint", ".: npm run test"],
        ),
        (r#""test": "npm run lint && jest", "lint": "eslint .""#, &[".: npm run test"]),
        (
            r#""test": "mocha", "test-cov": "nyc mocha", "test:watch": "mocha -w""#,
            &[".: npm run test"],
        ),
        (r#""test": "npm run test""#, &[".: npm run test"]),
    ] {
        assert_eq!(package(scripts), expected, "{scripts}");
    }
    let ci = |run: &str| format!("on: push\njobs: {{ a: {{ steps: [ {{ run: {run} }} ] }} }}\n");
    let manifest = r#"{"scripts": {"test": "mocha a b", "test:unit": "mocha a", "test-ci": "nyc --reporter text npm test"}}"#;
    let with =
        |run: &str| commands(&[(".github/workflows/a.yml", &ci(run)), ("package.json", manifest)]);
    assert_eq!(with("npm run test-ci"), [".: npm run test-ci"], "it is all of `test`");
    assert_eq!(
        with("npm run test:unit"),
        [".: npm run test:unit", ".: npm run test"],
        "it is a part"
    );
}

#[test]
fn targets_that_only_bundle_others_are_those_others() {
    let make = "PY ?= python3\ncheck: lint test\nlint:\n\truff check .\ntest: out\n\t$(PY) -m pytest\nout:\n\tmkdir -p out\n";
    let ci = "on: push\njobs: { a: { steps: [ { run: make check } ] } }\n";
    let tree = [("Makefile", make), (".github/workflows/a.yml", ci), ("pytest.ini", "")];
    assert_eq!(commands(&tree), [".: make lint", ".: make test"]);
    let found = look(&files(&tree));
    assert_eq!(
        found.checks[0].why.to_string(),
        "CI runs it (`.github/workflows/a.yml`, line 2); `make check` runs it"
    );
}

#[test]
fn tox_and_nox_are_what_they_run_for_the_python_that_is_there() {
    let tox = "\
[tox]
envlist = lint,py{310,311,312},docs
[testenv]
deps = pytest
commands =
    py310: coverage erase
    {envpython} -m pytest \\
      --basetemp={envtmpdir} \\
      tests {posargs}
[testenv:lint]
commands =
    ruff check src
    mypy --python-version=3.11 src
    mypy --python-version=3.10 src
[testenv:docs]
commands = mkdocs build
";
    let expected =
        [".: ruff check src", ".: mypy --python-version=3.11 src", ".: python3 -m pytest tests"];
    assert_eq!(commands(&[("tox.ini", tox)]), expected);
    let ci = |run: &str| format!("on: push\njobs: {{ a: {{ steps: [ {{ run: {run} }} ] }} }}\n");
    let with = |run: &str| commands(&[("tox.ini", tox), (".github/workflows/a.yml", &ci(run))]);
    assert_eq!(
        with("uvx --with tox-uv tox -e py"),
        [".: ruff check src", ".: mypy --python-version=3.11 src", ".: python3 -m pytest tests"]
    );
    assert_eq!(with("tox -e docs"), expected, "pages are no tests");
    let toml = "[tool.tox.env_run_base]\ncommands = [[\n  \"pytest\", \"-v\",\n  {replace = \"posargs\", extend = true},\n]]\n[tool.tox]\nenv_list = [\"py3.14\"]\n";
    let found = commands(&[
        ("pyproject.toml", toml),
        (".github/workflows/a.yml", &ci("uv run --group dev tox run")),
        ("uv.lock", ""),
    ]);
    assert_eq!(found, [".: uv run pytest -v"]);
    let nox = "import nox\n\n@nox.session(python=['3.11'])\ndef tests(session):\n    session.install('.')\n    session.run(\n        'pytest',\n        '-q',\n        *session.posargs,\n        env={'A': 'b'},\n    )\n\n@nox.session\ndef odd(session):\n    session.run(*words)\n";
    assert_eq!(commands(&[("noxfile.py", nox)]), [".: pytest -q"]);
    assert_eq!(commands(&[("noxfile.py", "import nox\n")]), [".: nox"]);
    let hooks = "repos:\n  - repo: x\n    hooks:\n      - id: ruff\n      - id: ruff-format\n      - id: trailing-whitespace\n";
    let with_hooks = [(".pre-commit-config.yaml", hooks), ("test_a.py", "import unittest\n")];
    assert_eq!(
        commands(&with_hooks),
        [".: ruff format --check .", ".: ruff check .", ".: python3 -m unittest discover"]
    );
}

#[test]
fn conditions_and_actions_are_read_as_for_a_change_on_linux() {
    let step = |step: &str| {
        let text = format!(
            "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - {step}\n"
        );
        commands(&[(".github/workflows/a.yml", &text)])
    };
    for (condition, runs) in [
        ("github.repository_owner == 'someone'", true),
        ("github.event_name == 'pull_request'", true),
        ("github.event_name == 'schedule'", false),
        ("runner.os != 'Windows' && success()", true),
        ("${{ !cancelled() }}", true),
        ("failure()", false),
        ("needs.changes.outputs.code == 'true'", true),
        ("contains(github.event.pull_request.labels.*.name, 'slow')", false),
        ("github.ref == 'refs/heads/main'", false),
        ("(github.ref == 'x') || always()", true),
        ("((((((((((((((((((((((((true))))))))))))))))))))))))", false),
        ("startsWith('ubuntu-22', 'ubuntu')", true),
    ] {
        let found = step(&format!("{{ run: go vet ./..., if: \"{condition}\" }}"));
        assert_eq!(!found.is_empty(), runs, "{condition}");
    }
    for (uses, expected) in [
        ("{ uses: actions-rs/cargo@v1, with: { command: test, args: --all } }", "cargo test --all"),
        ("{ uses: someone/retry@v3, with: { command: npm test } }", "npm test"),
        ("{ uses: golangci/golangci-lint-action@v8 }", "golangci-lint run"),
    ] {
        assert_eq!(step(uses), [format!(".: {expected}")], "{uses}");
    }
    assert_eq!(step("{ run: go vet ./..., continue-on-error: true }"), [""; 0]);
    let called = "on: push\njobs: { a: { uses: x/y/.github/workflows/z.yml@main, with: { command: npm run tests-only } } }\n";
    let manifest = r#"{"scripts": {"test": "npm run tests-only", "tests-only": "tape x.js", "pretest": "odd"}}"#;
    assert_eq!(
        commands(&[(".github/workflows/a.yml", called), ("package.json", manifest)]),
        [".: npm run tests-only"]
    );
}

#[test]
fn other_ecosystems_have_their_plain_test() {
    for (tree, expected) in [
        (
            &[("Gemfile", "gem 'rake'"), ("Rakefile", "Rake::TestTask.new")][..],
            "bundle exec rake test",
        ),
        (&[("Gemfile", "gem \"rspec\"")], "bundle exec rspec"),
        (&[("composer.json", r#"{"scripts": {"test": ["a", "b"]}}"#)], "composer run test"),
        (&[("composer.json", "{}"), ("phpunit.xml.dist", "")], "vendor/bin/phpunit"),
        (&[("mix.exs", "")], "mix test"),
        (&[("Big.sln", "")], "dotnet test"),
        (&[("Package.swift", "")], "swift test"),
        (&[("build.sbt", "")], "sbt test"),
        (&[("pom.xml", "")], "mvn -B test"),
        (&[("build.gradle", ""), ("gradlew", "")], "./gradlew test"),
    ] {
        assert_eq!(commands(tree), [format!(".: {expected}")], "{tree:?}");
    }
}
