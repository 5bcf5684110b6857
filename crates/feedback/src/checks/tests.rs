//! Words, commands and files, each with what should be seen in them.

use proptest::prelude::*;

use super::{
    classify::{Ecosystem, Meaning, Runner, meaning},
    *,
};

fn files(files: &[(&str, &str)]) -> Files {
    Files(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect())
}

fn commands(tree: &[(&str, &str)]) -> Vec<String> {
    detect(&files(tree))
        .iter()
        .map(|check| format!("{}: {}", check.directory, check.command))
        .collect()
}

#[test]
fn names_promise_what_they_say() {
    for (name, kind) in [
        ("test", Some(Kind::Test)),
        ("unit-tests", Some(Kind::Test)),
        ("test:unit", Some(Kind::Test)),
        ("check", Some(Kind::Test)),
        ("lint", Some(Kind::Lint)),
        ("lint_all", Some(Kind::Lint)),
        ("type-check", Some(Kind::Lint)),
        ("build", Some(Kind::Build)),
        ("format:check", Some(Kind::Format)),
        ("fmt", None),
        ("format", None),
        ("lint:fix", None),
        ("test:watch", None),
        ("test-e2e", None),
        ("docker-build", None),
        ("release", None),
        ("latest", None),
        ("contest", None),
        ("", None),
    ] {
        assert_eq!(names::kind_of(name), kind, "{name}");
    }
}

#[test]
fn python_tests_are_found_without_any_manifest() {
    const UNIT: &str = "import unittest\nfrom calc import add\n";
    const BARE: &str = "from calc import add\n\ndef test_add():\n    assert add(1, 1) == 2\n";
    type Row<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
    let table: &[Row<'_>] = &[
        (&[("calc.py", ""), ("test_calc.py", UNIT)], Some("python3 -m unittest discover")),
        (&[("tests/test_calc.py", UNIT)], Some("python3 -m unittest discover -s tests")),
        (&[("test/calc_test.py", UNIT)], Some("python3 -m unittest discover -s test")),
        (
            &[("tests/test_calc.py", "from unittest.mock import Mock\n")],
            Some("python3 -m unittest discover -s tests"),
        ),
        (&[("tests/test_calc.py", "import pytest\n")], Some("python3 -m pytest")),
        (&[("test_calc.py", BARE)], Some("python3 -m pytest")),
        (&[("test_calc.py", UNIT), ("requirements.txt", "pytest==8\n")], Some("python3 -m pytest")),
        (
            &[("test_calc.py", UNIT), ("requirements.txt", "flask\n")],
            Some("python3 -m unittest discover"),
        ),
        (&[("calc.py", "")], None),
        (&[("scripts/deep/test_tool.py", UNIT)], None),
    ];
    for (tree, command) in table {
        let found = commands(tree);
        let expected: Vec<String> = command.iter().map(|it| format!(".: {it}")).collect();
        assert_eq!(found, expected, "{tree:?}");
    }
    let made = [("Makefile", "test:\n\tpython3 -m unittest\n"), ("test_calc.py", UNIT)];
    assert_eq!(commands(&made), [".: make test"], "what its people named goes before");
}

#[test]
fn only_simple_lines_are_understood() {
    let words = |line: &str| {
        shell::commands(line)
            .map(|all| all.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" & "))
    };
    for (line, said) in [
        ("cargo test", Some("cargo test")),
        ("  a   b\tc ", Some("a b c")),
        ("a 'b c' \"d e\" f\\ g", Some("a b c d e f g")),
        ("a && b # c", Some("a & b")),
        ("a#b", Some("a#b")),
        ("a | b", None),
        ("a || true", None),
        ("a; b", None),
        ("a &", None),
        ("a > b", None),
        ("a $B", None),
        ("a \"$B\"", None),
        ("a '$B'", Some("a $B")),
        ("a `b`", None),
        ("a $(b)", None),
        ("a 'b", None),
        ("&& a", None),
        ("# only words", None),
        ("", None),
        ("a\u{1b}", None),
    ] {
        assert_eq!(words(line).as_deref(), said, "{line}");
    }
    assert_eq!(shell::lines("a \\\n  b\n\n# c\nd").unwrap(), ["a b", "d"]);
    assert_eq!(shell::lines("a\nif b; then\nc\nfi"), None);
    assert_eq!(shell::lines("cat <<EOF\ncargo test\nEOF"), None);
    assert_eq!(shell::lines(&"a\n".repeat(1_000)), None);
}

#[test]
fn commands_mean_what_they_do() {
    use Ecosystem::{Go, JavaScript, Jvm, Python, Rust};
    let judges = |kind, ecosystem| Some((kind, ecosystem));
    for (line, said) in [
        ("cargo test --workspace", judges(Kind::Test, Rust)),
        ("cargo +stable fmt --all -- --check", judges(Kind::Format, Rust)),
        ("cargo +nightly fmt --all -- --check", None),
        ("cargo test --target=wasm32-unknown-unknown", None),
        ("cargo miri test", None),
        ("cargo fmt", None),
        ("cargo nextest run", judges(Kind::Test, Rust)),
        ("RUSTFLAGS=-Dwarnings cargo clippy", judges(Kind::Lint, Rust)),
        ("cargo clippy --fix", None),
        ("cargo publish", None),
        ("uv run pytest -q", judges(Kind::Test, Python)),
        ("python3.12 -m pytest", judges(Kind::Test, Python)),
        ("poetry run ruff check .", judges(Kind::Lint, Python)),
        ("ruff format .", None),
        ("black --check src", judges(Kind::Format, Python)),
        ("black src", None),
        ("npx eslint .", judges(Kind::Lint, JavaScript)),
        ("npx --yes tsc --noEmit", judges(Kind::Lint, JavaScript)),
        ("node --test", judges(Kind::Test, JavaScript)),
        ("prettier --write .", None),
        ("go test -race ./...", judges(Kind::Test, Go)),
        ("go generate ./...", None),
        ("./gradlew check", judges(Kind::Test, Jvm)),
        ("./gradlew check publish", None),
        ("mvn -B verify", judges(Kind::Test, Jvm)),
        ("timeout 60 go vet ./...", judges(Kind::Lint, Go)),
        ("timeout", None),
        ("env", None),
        ("echo cargo test", None),
        ("nox -s lint", judges(Kind::Lint, Python)),
        ("tox -e py312", judges(Kind::Test, Python)),
        ("prettier -w .", None),
    ] {
        let words = shell::commands(line).unwrap();
        let Meaning::Judges { kind, ecosystem, .. } = meaning(&words[0]) else {
            assert_eq!(None, said, "{line}");
            continue;
        };
        let seen = Some((kind, ecosystem));
        assert_eq!(seen, said, "{line}");
    }
    let runs = |line: &str| {
        let meaning = meaning(&shell::commands(line).unwrap()[0]);
        let Meaning::Runs { runner, targets, directory } = meaning else { return None };
        Some((runner, targets.join(" "), directory))
    };
    assert_eq!(
        runs("make -C web CC=clang test lint"),
        Some((Runner::Make, "test lint".to_owned(), Some("web".to_owned())))
    );
    assert_eq!(runs("npm t"), Some((Runner::Package, "test".to_owned(), None)));
    assert_eq!(runs("yarn lint"), Some((Runner::Package, "lint".to_owned(), None)));
    assert_eq!(
        runs("pnpm --dir=web run test"),
        Some((Runner::Package, "test".to_owned(), Some("web".to_owned())))
    );
    assert_eq!(runs("npm run test -w web"), Some((Runner::Package, "test".to_owned(), None)));
    assert_eq!(runs("npm install"), None);
    assert_eq!(runs("make"), None);
}

#[test]
fn declared_checks_win_over_all_that_is_found() {
    let tree = files(&[("go.mod", "module x")]);
    let declared = Check::declared(
        "all of it".to_owned(),
        "make lint\ncargo test".parse().unwrap(),
        "agents/fix.yaml".to_owned(),
    );
    assert_eq!((declared.kind, declared.confidence), (Kind::Test, Confidence::Declared));
    assert_eq!(choose(vec![declared.clone()], &tree), [declared]);
    assert_eq!(choose(Vec::new(), &tree).len(), 3);
    let lint = Check::declared(
        "Lint".to_owned(),
        "./scripts/run | tee log".parse().unwrap(),
        "agents/fix.yaml".to_owned(),
    );
    assert_eq!(lint.kind, Kind::Lint, "its name says so");
}

#[test]
fn a_command_line_is_bounded_and_harmless() {
    assert_eq!(" a\n\tb ".parse::<CommandLine>().unwrap().as_str(), "a\n\tb");
    assert_eq!(" \n".parse::<CommandLine>(), Err(CommandLineError::Empty));
    assert_eq!("a\u{1b}[31m".parse::<CommandLine>(), Err(CommandLineError::Control));
    assert_eq!("a\u{0}".parse::<CommandLine>(), Err(CommandLineError::Control));
    let long = "a".repeat(CommandLine::LIMIT + 1);
    assert_eq!(long.parse::<CommandLine>(), Err(CommandLineError::Long(CommandLine::LIMIT + 1)));
}

#[test]
fn a_directory_does_not_leave_the_repository() {
    let at = |path: &str| Directory::parse(path).map(|directory| directory.to_string());
    assert_eq!(at(""), Some(".".to_owned()));
    assert_eq!(at("./web//app/"), Some("web/app".to_owned()));
    assert_eq!(at("web/../api"), Some("api".to_owned()));
    for wrong in ["..", "a/../..", "/etc", "~/x", "$HOME", "a\nb", "a/b/c/d/e", "`x`"] {
        assert_eq!(at(wrong), None, "{wrong}");
    }
}

#[test]
fn of_two_that_do_the_same_one_is_run() {
    let both =
        [("Cargo.toml", "[package]\n"), ("Makefile", "test:\n\tcargo test --all-features\n")];
    assert_eq!(
        commands(&both),
        [".: cargo fmt --check", ".: cargo clippy --all-targets", ".: make test"]
    );
    let other =
        [("pyproject.toml", "[tool.pytest.ini_options]\n"), ("Makefile", "test:\n\tcargo test\n")];
    assert_eq!(
        commands(&other),
        [".: make test", ".: python3 -m pytest"],
        "they do not do the same"
    );
    let unknown = [
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("Makefile", "test:\n\t./everything.sh\n"),
    ];
    assert_eq!(commands(&unknown), [".: make test"], "it may do everything");
}

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
    let make = "PY ?= python3\ncheck: lint test\nlint:\n\truff check .\ntest: build\n\t$(PY) -m pytest\nbuild:\n\tmkdir -p out\n";
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

#[test]
fn a_workflow_is_read_with_the_eyes_of_a_linux_machine_and_a_change() {
    let workflow = |on: &str, machine: &str, step: &str| {
        let text =
            format!("on: {on}\njobs:\n  a:\n    runs-on: {machine}\n    steps:\n      - {step}\n");
        commands(&[(".github/workflows/a.yml", &text)])
    };
    assert_eq!(workflow("push", "ubuntu-latest", "run: go test ./..."), [".: go test ./..."]);
    assert_eq!(
        workflow("{ push: { branches: [main], tags: [v1] } }", "self-hosted", "run: go test ./..."),
        [".: go test ./..."]
    );
    for (on, machine, step) in [
        ("release", "ubuntu-latest", "run: go test ./..."),
        ("[workflow_dispatch, schedule]", "ubuntu-latest", "run: go test ./..."),
        ("{ push: { tags: [v1] } }", "ubuntu-latest", "run: go test ./..."),
        ("push", "windows-2022", "run: go test ./..."),
        ("push", "macos-14", "run: go test ./..."),
        ("push", "ubuntu-latest", "{ run: go test ./..., if: false }"),
        ("push", "ubuntu-latest", "{ run: go test ./..., shell: python }"),
        ("push", "ubuntu-latest", "{ run: go test ./..., working-directory: ../.. }"),
        (
            "push",
            "ubuntu-latest",
            "{ run: go test ./..., working-directory: \"${{ matrix.dir }}\" }",
        ),
        ("push", "ubuntu-latest", "uses: go/test@v1"),
        ("push", "ubuntu-latest", "run: [go, test]"),
        ("push", "ubuntu-latest", "run: \"go test \\u0007\""),
    ] {
        assert_eq!(workflow(on, machine, step), [""; 0], "{on} {machine} {step}");
    }
}

#[test]
fn yaml_that_grows_or_digs_is_not_followed() {
    let laughs = "a: &a [x, x]\nb: &b [*a, *a]\non: push\njobs: { j: { steps: [ *b, { run: go vet ./... } ] } }\n";
    assert_eq!(commands(&[(".github/workflows/a.yml", laughs)]), [".: go vet ./..."]);
    let deep = format!("on: push\njobs: {}", "[".repeat(10_000));
    assert_eq!(commands(&[(".github/workflows/a.yml", &deep)]), [""; 0]);
    let deep: Vec<String> = (0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let deep = deep.concat();
    assert_eq!(commands(&[(".github/workflows/a.yml", &deep)]), [""; 0]);
    let many = format!("on: push\njobs: [{}]", "a, ".repeat(100_000));
    assert_eq!(commands(&[(".github/workflows/a.yml", &many)]), [""; 0]);
}

#[test]
fn of_many_variants_a_few_are_run() {
    let steps: Vec<String> =
        (0..20).map(|number| format!("- run: cargo test --features f{number}\n")).collect();
    let text = format!(
        "on: push\njobs: {{ a: {{ steps:\n[ {} ] }} }}",
        steps.concat().replace("- run: ", "{ run: ").replace('\n', " },\n")
    );
    assert_eq!(commands(&[(".github/workflows/a.yml", &text)]).len(), 4);
}

#[test]
fn a_repository_of_many_manifests_has_few_checks() {
    let paths: Vec<String> =
        (0..5_000).map(|number| format!("services/s{number}/go.mod")).collect();
    let mut tree: Vec<(&str, &str)> =
        paths.iter().map(|path| (path.as_str(), "module x")).collect();
    tree.push(("go.mod", "module root"));
    let found = detect(&files(&tree));
    assert_eq!(found.len(), CHECKS_LIMIT);
    assert!(
        found.iter().any(|check| check.directory.is_root()),
        "what is nearest to the root is kept"
    );
    let long = format!("test:\n\ttrue\n{}", "x".repeat(1 << 20));
    assert_eq!(commands(&[("Makefile", &long)]), [""; 0]);
}

fn any_tree() -> impl Strategy<Value = Vec<(String, String)>> {
    let path = prop::sample::select(vec![
        "Makefile",
        "justfile",
        "package.json",
        "Cargo.toml",
        "pyproject.toml",
        "tox.ini",
        "setup.cfg",
        "go.mod",
        "pom.xml",
        "build.gradle",
        ".github/workflows/ci.yml",
        "web/package.json",
        "a/b/Makefile",
        "uv.lock",
        "tests/test_a.py",
        "\u{1b}/Makefile",
        "../Makefile",
        "a//go.mod",
    ]);
    let piece = prop::sample::select(vec![
        "test:",
        "lint:",
        "check: test lint",
        "\n",
        "\t",
        "    ",
        "cargo test",
        "on: push",
        "jobs:",
        "  a:",
        "steps:",
        "- run: ",
        "make test",
        "npm test",
        "[workspace]",
        "[package]",
        "[tool.ruff]",
        "\"\"\"",
        "'''",
        "{",
        "}",
        "\"scripts\"",
        ":",
        "\"test\"",
        ",",
        "\"jest\"",
        "&a",
        "*a",
        "|",
        "\\\n",
        "cd ../..",
        "é",
        "\u{7}",
        "working-directory: x",
        "&&",
        "'",
        "\"",
        "#",
    ]);
    let text = prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat());
    prop::collection::vec((path.prop_map(str::to_owned), text), 0..6)
}

proptest! {
    #[test]
    fn whatever_the_files_say_checks_are_bounded_and_harmless(tree in any_tree()) {
        let tree = Files(tree.into_iter().map(|(path, text)| (path, text.into_bytes())).collect());
        let found = detect(&tree);
        prop_assert!(found.len() <= CHECKS_LIMIT);
        let mut names: Vec<&str> = found.iter().map(|check| check.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), found.len(), "names are unique");
        prop_assert!(found.is_sorted_by_key(|check| check.kind));
        for check in &found {
            prop_assert!(!check.command.as_str().contains(char::is_control) && check.command.as_str().len() <= 2_000);
            prop_assert!(!check.name.contains(char::is_control) && check.name.chars().count() <= 70);
            prop_assert!(!check.directory.as_str().contains("..") && !check.directory.as_str().starts_with('/'));
            prop_assert!(!check.why.file.contains(char::is_control));
        }
    }

    #[test]
    fn any_bytes_can_be_a_manifest(text in "\\PC{0,300}", path in prop::sample::select(vec!["Makefile", "package.json", ".github/workflows/a.yml", "Cargo.toml"])) {
        let _ = commands(&[(path, &text)]);
        let _ = classify::kind_of_script(&text);
    }
}
