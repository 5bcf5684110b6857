//! Words, commands and files, each with what should be seen in them.

mod maintainers;

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
