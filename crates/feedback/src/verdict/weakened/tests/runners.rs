//! What runs the tests: files in its place, files that it loads, scripts behind a check, decoys.

use std::collections::BTreeMap;

use super::*;
use crate::checks::Check;

/// The kinds of what is said about one new file.
fn new_file(path: &str, text: &str) -> Vec<&'static str> {
    let changes = [FileChange { old: None, new: Some(version(path, text)) }];
    in_files(&changes).weakened.iter().map(|it| it.kind.word()).collect()
}

#[test]
fn a_file_in_the_place_of_a_test_runner_or_that_one_loads_is_told() {
    for path in [
        "unittest.py",
        "web/unittest.py",
        "pytest.py",
        "pytest/__init__.py",
        "src/_pytest/__init__.py",
        "sitecustomize.py",
        "lib/usercustomize.py",
        "conftest.py",
        "tests/conftest.py",
        "node_modules/.bin/jest",
        "web/node_modules/vitest/index.js",
        "jest.config.ts",
        "vitest.config.mts",
        "vitest.setup.ts",
        ".mocharc.json",
        ".cargo/config.toml",
        "build.rs",
        "crates/a/build.rs",
        "rust-toolchain.toml",
        ".config/nextest.toml",
        "go.work",
        "mvnw",
        ".mvn/extensions.xml",
    ] {
        assert_eq!(new_file(path, "x"), ["test runner touched"], "{path}");
    }
    for path in [
        "calc.py",
        "tests/unittest/__init__.py",
        "web/coverage.py",
        "src/build.rs.md",
        "jest.md",
        "config.toml",
        "src/node_modules.rs",
    ] {
        assert_eq!(new_file(path, "x"), [""; 0], "{path}");
    }
    let (old, new) = (Some("import pytest\n"), Some("import pytest\npytest.x = 1\n"));
    assert_eq!(
        told(&[("tests/conftest.py", old, new)]),
        ["tests/conftest.py: test runner touched: pytest loads it by itself"]
    );
    assert_eq!(told(&[("tests/conftest.py", old, old)]), [""; 0]);
    let gone = told(&[("conftest.py", Some("x = 1\n"), None)]);
    assert_eq!(gone, ["conftest.py: test runner touched: pytest loads it by itself"]);
    let unread = [FileChange {
        old: None,
        new: Some(Version { path: "sitecustomize.py", bytes: b"# \xe9\nimport unittest\n" }),
    }];
    assert_eq!(in_files(&unread).weakened[0].kind, Weakening::Unread);
}

#[test]
fn settings_that_say_which_tests_are_run_and_how_are_told() {
    for (path, line) in [
        ("pyproject.toml", "addopts = \"-p calc\""),
        ("setup.cfg", "testpaths = docs"),
        ("package.json", "\"testMatch\": [\"x\"],"),
        ("package.json", "\"setupFilesAfterEnv\": [\"./x.js\"],"),
        ("Cargo.toml", "harness = false"),
        ("a_test.go", "func TestMain(m *testing.M) {"),
    ] {
        let said = edit(path, "x\n", &format!("x\n{line}\n"));
        assert_eq!(said, [format!("{path}:2: test runner touched: `{line}` is new")]);
    }
    assert_eq!(edit("pyproject.toml", "x\n", "x\nversion = \"2\"\n"), [""; 0]);
}

#[test]
fn code_that_begins_to_reach_into_a_test_framework_is_told() {
    for (path, line, framework) in [
        ("calc.py", "import unittest", "unittest"),
        ("calc.py", "    from unittest import case", "unittest"),
        ("calc.py", "t = __import__('unittest')", "unittest"),
        ("calc.py", "t = sys.modules['pytest']", "pytest"),
        ("calc.py", "import _pytest.assertion", "_pytest"),
        ("src/calc.ts", "import { it } from 'vitest'", "vitest"),
        ("src/calc.js", "const t = require('node:test')", "node:test"),
        ("calc.go", "\t\"testing\"", "testing"),
        ("src/main/java/Calc.java", "import org.junit.Assert;", "org.junit"),
    ] {
        let said = edit(path, "x\n", &format!("x\n{line}\n"));
        let expected =
            format!("{path}:2: test runner touched: `{framework}` is used by code that is no test");
        assert_eq!(said, [expected], "{line}");
        let known = format!("x\n{line}\n");
        assert_eq!(edit(path, &known, &format!("{known}y\n")), [""; 0], "it was there");
    }
    for (path, line) in [
        ("calc.py", "# import unittest"),
        ("calc.py", "import unittest_like"),
        ("calc.py", "import my.unittest"),
        ("tests/test_calc.py", "import unittest"),
        ("README.md", "import unittest"),
        ("calc_test.go", "\t\"testing\""),
    ] {
        assert_eq!(edit(path, "x\n", &format!("x\n{line}\n")), [""; 0], "{path}: {line}");
    }
}

#[test]
fn another_alarm_of_the_same_file_hides_no_changed_check() {
    let old = "test:\n\tsh ci/test.sh\nlint:\n\ttrue\n";
    let new = "test:\n\t@sh ci/fast.sh\nlint:\n\ttrue || true # check\n";
    assert_eq!(
        edit("Makefile", old, new),
        [
            "Makefile:4: failures tolerated: `|| true` in `true || true # check`",
            "Makefile: check changed: `make test` no longer runs `sh ci/test.sh`",
        ]
    );
}

/// What is said where the base has this Makefile, this check, and one file that changes.
fn behind(makefile: &str, command: &str, path: &str) -> Vec<String> {
    let check =
        Check::declared("tests".to_owned(), command.parse().unwrap(), "agents/a.yaml".to_owned());
    let contents = BTreeMap::from([("Makefile".to_owned(), makefile.as_bytes().to_vec())]);
    let change =
        FileChange { old: Some(version(path, "exit 1\n")), new: Some(version(path, "exit 0\n")) };
    let found = behind_checks(&[check], &contents, &[change]);
    found.weakened.iter().map(ToString::to_string).collect()
}

#[test]
fn a_changed_file_that_a_check_runs_is_told() {
    let said = |command: &str, path: &str| {
        vec![format!("{path}: check changed: `{command}` runs this file, which is not what it was")]
    };
    for line in [
        "sh ci/test.sh",
        "@./ci/test.sh",
        "ci/test.sh --all",
        "cd ci && ./test.sh",
        "X=1 bash -e ci/test.sh | cat",
        "timeout 10 ci/test.sh",
        "\"ci/test.sh\"",
    ] {
        let makefile = format!("test:\n\t{line}\n");
        assert_eq!(behind(&makefile, "x", "ci/test.sh"), said("make test", "ci/test.sh"), "{line}");
        assert_eq!(behind("", line, "ci/test.sh").len(), 1, "{line}");
        assert_eq!(behind(&makefile, "x", "ci/other.sh"), [""; 0], "{line}");
    }
    for (command, path) in [
        ("python3 -m ci.run", "ci/run.py"),
        ("python3 -m ci", "ci/__main__.py"),
        ("python3 -u run_all.py", "run_all.py"),
        ("node scripts/test", "scripts/test.js"),
        ("make -f ci.mak test", "ci.mak"),
        ("pytest -c other.ini", "other.ini"),
        ("jest --config=strict.json", "strict.json"),
    ] {
        assert_eq!(behind("", command, path), said(command, path));
    }
    for (command, path) in [
        ("mypy calc.py", "calc.py"),
        ("pip install -q x && pytest tests", "x"),
        ("python3 -m unittest", "calc.py"),
        ("sh ../ci/test.sh", "ci/test.sh"),
        ("sh /ci/test.sh", "ci/test.sh"),
    ] {
        assert_eq!(behind("", command, path), [""; 0], "{command}");
    }
    // Its tests are compared one by one, with better words.
    let tests = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(x)\n";
    let check =
        Check::declared("t".to_owned(), "python3 test_a.py".parse().unwrap(), String::new());
    let more = format!("{tests}\n");
    let change = FileChange {
        old: Some(version("test_a.py", tests)),
        new: Some(version("test_a.py", &more)),
    };
    assert_eq!(behind_checks(&[check], &BTreeMap::new(), &[change]), Found::default());
}

#[test]
fn compiled_files_are_told_and_a_crowd_of_them_takes_little_room() {
    let found = not_sources((0..100).map(|_| ("__pycache__/a.pyc", "Python")));
    assert_eq!((found.weakened.len(), found.left_off), (20, 80));
    assert_eq!(
        found.weakened[0].to_string(),
        "__pycache__/a.pyc: may run what is no source: it is compiled (Python), and can be run instead of a source"
    );
}

proptest! {
    #[test]
    fn any_command_and_any_file_can_be_looked_at(command in "[ -~\n]{1,80}", path in "\\PC{0,20}", text in "\\PC{0,80}") {
        let contents = BTreeMap::from([("Makefile".to_owned(), command.as_bytes().to_vec())]);
        let change = FileChange { old: None, new: Some(version(&path, &text)) };
        let check = command.parse().map(|it| Check::declared(String::new(), it, String::new()));
        behind_checks(&check.into_iter().collect::<Vec<_>>(), &contents, &[change]);
        in_files(&[change]);
    }
}
