//! Small changes, each with what should be said about it; and many of which nothing should be said.

mod languages;
mod runners;

use proptest::prelude::*;

use super::*;

fn version<'a>(path: &'a str, text: &'a str) -> Version<'a> {
    Version { path, bytes: text.as_bytes() }
}

fn told(changes: &[(&str, Option<&str>, Option<&str>)]) -> Vec<String> {
    let changes: Vec<FileChange<'_>> = changes
        .iter()
        .map(|(path, old, new)| FileChange {
            old: old.map(|text| version(path, text)),
            new: new.map(|text| version(path, text)),
        })
        .collect();
    in_files(&changes).weakened.iter().map(ToString::to_string).collect()
}

/// What is said about one file that changes from one text to another.
fn edit(path: &str, old: &str, new: &str) -> Vec<String> {
    told(&[(path, Some(old), Some(new))])
}

#[test]
fn commands_that_no_longer_fail_are_told() {
    for (path, old, new, said) in [
        (
            "Makefile",
            "test:\n\tcargo test\n",
            "test:\n\tcargo test || true\n",
            "2: failures tolerated: `|| true` in `cargo test || true`",
        ),
        (
            "Makefile",
            "test:\n\tcargo test\n",
            "test:\n\t-cargo test\n",
            "2: failures tolerated: `-` in `-cargo test`",
        ),
        (
            "package.json",
            "{\"scripts\":{\n\"test\": \"jest\"\n}}",
            "{\"scripts\":{\n\"test\": \"jest --passWithNoTests\"\n}}",
            "2: failures tolerated: `passWithNoTests` in `\"test\": \"jest --passWithNoTests\"`",
        ),
        (
            ".github/workflows/ci.yml",
            "- run: pytest\n",
            "- run: pytest\n  continue-on-error: true\n",
            "2: failures tolerated: `continue-on-error: true` in `continue-on-error: true`",
        ),
        (
            ".github/workflows/ci.yml",
            "- run: pytest\n",
            "- run: pytest; exit 0\n",
            "1: failures tolerated: `; exit 0` in `- run: pytest; exit 0`",
        ),
    ] {
        assert_eq!(edit(path, old, new), [format!("{path}:{said}")]);
        assert_eq!(edit(path, new, old), [""; 0], "the other way it is better");
        assert_eq!(edit(path, new, new), [""; 0]);
    }
    let (all, some) = ("addopts = \"-q\"\n", "addopts = \"-q --deselect tests/a.py\"\n");
    let said = "failures tolerated: `--deselect` in `addopts = \"-q --deselect tests/a.py\"`";
    assert_eq!(edit("pyproject.toml", all, some), [format!("pyproject.toml:1: {said}")]);
    let said = "pyproject.toml:1: test runner touched: `addopts = \"-q\"` is new";
    assert_eq!(edit("pyproject.toml", some, all), [said], "what was left out is not known by it");
    assert_eq!(edit("Makefile", "clean:\n\trm -r x\n", "clean:\n\trm -r x || true\n"), [""; 0]);
    assert_eq!(edit("README.md", "cargo test", "cargo test || true"), [""; 0]);
    let moved = [
        ("Makefile", Some("test:\n\tcargo test || true\n"), Some("")),
        ("make.mk", Some("x:\n"), Some("x:\n\tcargo test || true\n")),
    ];
    assert_eq!(told(&moved), [""; 0]);
}

#[test]
fn a_check_that_keeps_its_name_and_runs_something_else_is_told() {
    let told_as = "check changed: `make test` no longer runs `cargo test --locked`";
    for new in [
        "test:\n\t@echo ok\n",
        "test: other\nother:\n\t@printf 'test result: ok'\n",
        "test:\n\tcargo test --locked-not\n\tcargo\n".replace("--locked-not", "").as_str(),
    ] {
        let old = "test:\n\tcargo test --locked\n";
        assert_eq!(edit("Makefile", old, new), [format!("Makefile: {told_as}")], "{new}");
    }
    let old = "RUN = cargo test\ntest:\n\t$(RUN)\n";
    let said = edit("Makefile", old, &old.replace("cargo test", "echo"));
    assert_eq!(said, ["Makefile: check changed: `make test` no longer runs `RUN = cargo test`"]);
    let kept = "test:\n\tcargo test --locked\n";
    let lost = [format!("Makefile: {told_as}")];
    for line in [
        "@printf 'test result: ok' # cargo test --locked",
        "echo 'x; cargo test --locked'",
        "exit 0; cargo test --locked",
        "false && cargo test --locked",
        "PATH=fake cargo test --locked",
        "cargo test --locked | cat",
        "cargo test --locked &",
    ] {
        assert_eq!(edit("Makefile", kept, &format!("test:\n\t{line}\n")), lost, "{line}");
    }
    for line in
        ["@cargo test --locked", "cargo test --locked # all", "cargo test --locked && echo ok"]
    {
        assert_eq!(edit("Makefile", kept, &format!("test:\n\t{line}\n")), [""; 0], "{line}");
    }
    for line in ["SHELL := ./fake", ".IGNORE:", "MAKEFLAGS += -i", "-include fake.mk"] {
        let said = edit("Makefile", kept, &format!("{line}\n{kept}"));
        assert_eq!(said, [format!("Makefile: check changed: `{line}` is new")]);
    }
    let another = "GNUmakefile: check changed: `make test` is that of this new file";
    assert_eq!(told(&[("GNUmakefile", None, Some(kept))]), [another]);
    assert_eq!(told(&[("Makefile", None, Some(kept))]), [""; 0]);
    let package = |script: &str| format!("{{\"scripts\":{{\"test\":\"{script}\"}}}}");
    assert_eq!(
        edit("web/package.json", &package("jest --ci"), &package("echo ok")),
        ["web/package.json: check changed: `run test` no longer runs `jest --ci`"]
    );
    // More than before, another place, or another target are no loss.
    let old = "test: build\n\tcargo test\nbuild:\n\tcargo build\nclean:\n\trm x\n";
    for new in [
        "test: build\n\tcargo test --all\n\tcargo test --doc\nbuild:\n\tcargo build\n",
        "test: build rest\nrest:\n\tcargo test\nbuild:\n\tcargo build\n",
        "test: build\n\tcargo test\nbuild:\n\tcargo build\nclean:\n\trm y\n",
    ] {
        assert_eq!(edit("Makefile", old, new), [""; 0], "{new}");
    }
}

#[test]
fn lowered_thresholds_are_told() {
    for (path, old, new, said) in [
        (
            "pyproject.toml",
            "[tool.coverage.report]\nfail_under = 90\n",
            "[tool.coverage.report]\nfail_under = 80.5\n",
            "2: threshold lowered: `fail_under` was 90 and is 80.5",
        ),
        (
            "pyproject.toml",
            "[tool.coverage.report]\nfail_under = 90\n",
            "[tool.coverage.report]\n",
            "2: threshold lowered: `fail_under` was 90 and is gone",
        ),
        (
            "Makefile",
            "\tpytest --cov-fail-under=90\n",
            "\tpytest --cov-fail-under=9\n",
            "1: threshold lowered: `cov-fail-under` was 90 and is 9",
        ),
        (
            "jest.config.js",
            "coverageThreshold: { global: { branches: 90, lines: 80 } }",
            "coverageThreshold: { global: { branches: 50, lines: 80 } }",
            "1: threshold lowered: `branches` was 90 and is 50",
        ),
        (
            "codecov.yml",
            "target: 80%\n",
            "target: 70%\n",
            "1: threshold lowered: `target` was 80 and is 70",
        ),
    ] {
        // Of a file that a runner loads it is told besides that it is another.
        let about_numbers = |old, new| {
            let mut told = edit(path, old, new);
            told.retain(|it| !it.contains("test runner touched"));
            told
        };
        assert_eq!(about_numbers(old, new), [format!("{path}:{said}")]);
        assert_eq!(about_numbers(new, old), [""; 0], "higher is better");
    }
}

#[test]
fn rewritten_snapshots_are_told_and_longer_ones_are_not() {
    let old = "---\nsource: a.rs\nexpression: x\n---\nhello\nworld\n";
    let path = "src/snapshots/a.snap";
    assert_eq!(
        edit(path, old, &old.replace("hello", "bye")),
        [
            "src/snapshots/a.snap: snapshot rewritten: 1 line of what was expected, not expected any more"
        ]
    );
    assert_eq!(edit(path, old, &old.replace("a.rs", "b.rs")), [""; 0]);
    assert_eq!(edit(path, old, &format!("{old}more\n")), [""; 0]);
}

#[test]
fn a_test_file_that_cannot_be_read_is_told() {
    let long = "x".repeat(FILE_BYTES + 1);
    let told = edit("tests/test_a.py", "", &long);
    assert_eq!(
        told,
        ["tests/test_a.py: not looked at: the file or the change is too large, or it is not text"]
    );
    let binary = FileChange { old: None, new: Some(Version { path: "a_test.go", bytes: b"\xff" }) };
    assert_eq!(in_files(&[binary]).weakened.len(), 1);
    let image = FileChange { old: None, new: Some(Version { path: "a.png", bytes: b"\xff" }) };
    assert_eq!(in_files(&[image]), Found::default());
}

#[test]
fn what_is_left_off_is_counted() {
    let names: Vec<String> =
        (0..FOUND_LIMIT + 7).map(|number| format!("tests/test_{number}.py")).collect();
    let text = |number: usize| format!("def test_{number}():\n    assert one() == {number}\n");
    let texts: Vec<String> = (0..names.len()).map(text).collect();
    let changes: Vec<FileChange<'_>> = names
        .iter()
        .zip(&texts)
        .map(|(path, text)| FileChange { old: Some(version(path, text)), new: None })
        .collect();
    let found = in_files(&changes);
    assert_eq!((found.weakened.len(), found.left_off), (FOUND_LIMIT, 7));
}

/// Files that make a careless reader look at the same bytes again and again.
#[test]
fn hostile_files_are_read_once() {
    const BYTES: usize = FILE_BYTES / 4;
    let many = |text: &str| text.repeat(BYTES / text.len());
    let hostile = [
        ("a.rs", many("#[test] fn a ")),
        ("a.rs", many("#[test] fn a(")),
        ("a.rs", many("#[test] fn a() { ")),
        ("a.rs", many("('x', 'y'), ")),
        ("a.rs", many("/*")),
        ("a.rs", many("r#\"")),
        ("test_a.py", "def test_a(\n".repeat(BYTES / 16) + &")".repeat(BYTES / 16)),
        ("test_a.py", many("assert ")),
        ("test_a.py", many("@pytest.mark.skip(\n")),
        ("a.test.js", many("it('a', () => { ")),
        ("a.test.js", many("(/[")),
        ("a.test.js", many("it.each`")),
        ("a.test.js", many("it(\"")),
        ("a_test.go", many("func TestA(t) {\n")),
        ("a_test.go", many("func TestA(\n")),
        ("ATest.java", many("@Test a(")),
        ("ATest.java", many("@A.")),
        ("Makefile", many("\tcargo test || true\n")),
        ("package.json", many("lines: 1 ")),
        ("a.snap", many("a\n")),
    ];
    for (path, text) in &hostile {
        let half = &text[..text.len() / 2];
        let _ = edit(path, text, half);
    }
}

proptest! {
    #[test]
    fn a_file_that_does_not_change_is_not_weakened(
        path in prop::sample::select(vec!["a.rs", "test_a.py", "a.test.ts", "a_test.go", "ATest.java", "Makefile", "package.json", "a.snap"]),
        text in hostile_text(),
    ) {
        prop_assert_eq!(edit(path, &text, &text), Vec::<String>::new());
    }

    #[test]
    fn nothing_breaks_the_reader(
        path in prop::sample::select(vec!["a.rs", "test_a.py", "a.test.ts", "a_test.go", "ATest.java", "Makefile", "package.json", "codecov.yml"]),
        old in hostile_text(),
        new in hostile_text(),
    ) {
        let told = edit(path, &old, &new);
        prop_assert!(told.len() <= FOUND_LIMIT);
    }
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "#[test]",
        "#[ignore]",
        "fn a",
        "fn b",
        "()",
        "{",
        "}",
        "(",
        ")",
        "\n",
        "\n    ",
        "def test_a():",
        "def test_b(",
        "@pytest.mark.skip",
        "class A:",
        "assert ",
        "assert!(true)",
        "assert_eq!(1, 1)",
        "it('a', ",
        "it.only(",
        "describe.skip('d', ",
        "\"",
        "'",
        "`",
        "/*",
        "*/",
        "//",
        "#",
        "r#\"",
        "\\",
        "/",
        "[",
        "]",
        "func TestA(t *testing.T) {",
        "t.Skip()",
        "@Test",
        "@Disabled",
        "void a()",
        "expect(x)",
        ".toBe(",
        "é",
        "\tcargo test",
        " || true",
        "fail_under = 5",
        "lines: 90",
        "'''",
        "\"\"\"",
        "=",
        ";",
        "target: 80%",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}
