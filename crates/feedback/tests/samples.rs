//! Real output of real tools, and what is understood of it. Each sample is a file in `samples`; what went to the other stream is beside it.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use feedback::{Exit, Run, location::Workspace, read, report::Report};

/// A file below `samples`, the command that printed it, and how that ended.
type Sample = (&'static str, &'static str, i32);

const RUST: &[Sample] = &[
    ("rust/cargo-check-error.jsonl", "cargo check --message-format json", 101),
    ("rust/cargo-check-error.txt", "cargo check", 101),
    ("rust/cargo-test.txt", "cargo test", 101),
    ("rust/libtest.jsonl", "cargo test -- --format json", 101),
    ("rust/cargo-test-build.jsonl", "cargo test --no-run --message-format json", 0),
    ("rust/clippy.jsonl", "cargo clippy --message-format json", 0),
    ("rust/nextest.txt", "cargo nextest run", 100),
    ("rust/nextest-plus.jsonl", "cargo nextest run --message-format libtest-json-plus", 100),
    ("rust/cargo-test-workspace.txt", "cargo test --workspace --no-fail-fast", 101),
    ("rust/cargo-test-quiet.txt", "cargo test --workspace --no-fail-fast -q", 101),
    ("rust/cargo-test-json.jsonl", "cargo test -- --format json", 101),
    ("rust/cargo-test-aborts.txt", "cargo test --test whole", 101),
    ("rust/cargo-test-nocapture.txt", "cargo test -- --nocapture", 101),
    ("rust/cargo-clippy.txt", "cargo clippy", 0),
    ("rust/cargo-clippy.jsonl", "cargo clippy --message-format json", 0),
    ("rust/cargo-clippy-short.txt", "cargo clippy --message-format short", 0),
    ("rust/cargo-check.txt", "cargo check", 101),
    ("rust/cargo-check-color.txt", "cargo check", 101),
    ("rust/cargo-test-broken.txt", "cargo test", 101),
    ("rust/rustc.txt", "rustc src/bad.rs", 1),
    ("rust/rustc.jsonl", "rustc src/bad.rs --error-format json", 1),
    ("rust/cargo-manifest.txt", "cargo check", 101),
    ("rust/nextest-retries.txt", "cargo nextest run", 100),
    ("rust/nextest-all-statuses.txt", "cargo nextest run --profile ci", 100),
    (
        "rust/nextest-plus-retries.jsonl",
        "cargo nextest run --message-format libtest-json-plus",
        100,
    ),
];

const PYTHON: &[Sample] = &[
    ("python/pytest.txt", "pytest -q", 1),
    ("python/pytest-verbose.txt", "pytest -v", 1),
    ("python/pytest-default.txt", "pytest", 1),
    ("python/pytest-quiet.txt", "pytest -q", 1),
    ("python/pytest-short.txt", "pytest --tb=short", 1),
    ("python/pytest-line.txt", "pytest --tb=line", 1),
    ("python/pytest-no-traceback.txt", "pytest --tb=no -q", 1),
    ("python/pytest-collection.txt", "pytest", 2),
    ("python/pytest-color.txt", "pytest --color=yes -v", 1),
    ("python/pytest-all-pass.txt", "pytest", 0),
    ("python/pytest-none.txt", "pytest", 5),
    ("python/pytest-json-report.json", "pytest --json-report", 1),
    ("python/pytest-report-collection.json", "pytest --json-report", 2),
    ("python/unittest.txt", "python -m unittest -v", 1),
    ("python/unittest-all.txt", "python3 -m unittest -v", 1),
    ("python/unittest-quiet.txt", "python3 -m unittest", 1),
    ("python/ruff.json", "ruff check --output-format json", 1),
    ("python/ruff.sarif", "ruff check --output-format sarif", 1),
    ("python/ruff-full.txt", "ruff check", 1),
    ("python/ruff-concise.txt", "ruff check --output-format concise", 1),
    ("python/ruff-grouped.txt", "ruff check --output-format grouped", 1),
    ("python/ruff-github.txt", "ruff check --output-format github", 1),
    ("python/ruff-jsonl.jsonl", "ruff check --output-format json-lines", 1),
    ("python/ruff-format.txt", "ruff format --check", 1),
    ("python/ruff-ok.txt", "ruff check", 0),
    ("python/mypy.txt", "mypy .", 1),
    ("python/mypy.jsonl", "mypy -O json .", 1),
    ("python/mypy-default.txt", "mypy --strict .", 1),
    ("python/mypy-columns.txt", "mypy --show-column-numbers .", 1),
    ("python/mypy-pretty.txt", "mypy --pretty .", 1),
    ("python/mypy-json.jsonl", "mypy -O json .", 1),
    ("python/mypy-ok.txt", "mypy .", 0),
];

const JAVASCRIPT: &[Sample] = &[
    ("javascript/jest.txt", "npm test", 1),
    ("javascript/jest.json", "jest --json", 1),
    ("javascript/jest-text.txt", "jest", 1),
    ("javascript/jest-verbose.txt", "jest --verbose", 1),
    ("javascript/jest-json.json", "jest --json", 1),
    ("javascript/jest-color.txt", "jest --color", 1),
    ("javascript/vitest.json", "vitest run --reporter=json", 1),
    ("javascript/vitest-text.txt", "vitest run", 1),
    ("javascript/vitest-verbose.txt", "vitest run --reporter=verbose", 1),
    ("javascript/vitest-json.json", "vitest run --reporter=json", 1),
    ("javascript/vitest-tap.txt", "vitest run --reporter=tap", 1),
    ("javascript/vitest-tap-flat.txt", "vitest run --reporter=tap-flat", 1),
    ("javascript/node.tap", "node --test", 1),
    ("javascript/node-tap.txt", "node --test --test-reporter=tap", 1),
    ("javascript/node-spec.txt", "node --test --test-reporter=spec", 1),
    ("javascript/mocha-spec.txt", "mocha", 1),
    ("javascript/mocha-tap.txt", "mocha -R tap", 1),
    ("javascript/eslint.json", "eslint -f json .", 1),
    ("javascript/eslint-json.json", "eslint -f json .", 1),
    ("javascript/eslint-stylish.txt", "eslint .", 1),
    ("javascript/tsc.txt", "tsc --noEmit", 2),
    ("javascript/tsc-plain.txt", "tsc --noEmit", 2),
    ("javascript/tsc-pretty.txt", "tsc --noEmit --pretty", 2),
];

const GO: &[Sample] = &[
    ("go/go-test.jsonl", "go test -json ./...", 1),
    ("go/go-vet.txt", "go vet ./...", 1),
    ("go/go-build.txt", "go build ./...", 1),
    ("go/made-go-test.txt", "go test ./...", 1),
    ("go/made-go-test-verbose.txt", "go test -v ./...", 1),
    ("go/made-go-test.jsonl", "go test -json ./...", 1),
    ("go/made-go-vet.txt", "go vet ./...", 1),
    ("go/made-go-vet.jsonl", "go vet -json ./...", 0),
    ("go/made-go-build.txt", "go build ./...", 1),
    ("go/made-go-test-build.txt", "go test ./...", 1),
    ("go/made-go-test-build.jsonl", "go test -json ./bad", 1),
    ("go/made-go-vet-build.txt", "go vet ./...", 1),
    ("go/made-go-timeout.txt", "go test -timeout 300ms ./slow", 1),
    ("go/made-go-timeout.jsonl", "go test -timeout 300ms -json ./slow", 1),
];

const C: &[Sample] = &[
    ("c/gcc.txt", "gcc -Wall a.c", 1),
    ("c/gcc.json", "gcc -fdiagnostics-format=json a.c", 1),
    ("c/gcc-json.json", "gcc -fdiagnostics-format=json b.c", 1),
    ("c/gcc-missing.txt", "gcc a.c", 1),
    ("c/gcc-cpp.txt", "g++ c.cpp", 1),
    ("c/gcc-link.txt", "gcc l.c", 1),
    ("c/gcc-make.txt", "make", 2),
    ("c/clang.txt", "clang d.c", 1),
];

const XML: &[Sample] = &[
    ("xml/pytest-junit.xml", "pytest --junitxml=/dev/stdout", 1),
    ("xml/pytest-rich.xml", "pytest --junitxml=/dev/stdout", 1),
    ("xml/pytest-collection.xml", "pytest --junitxml=/dev/stdout", 2),
    ("xml/vitest-junit.xml", "vitest run --reporter=junit", 1),
    ("xml/vitest-rich.xml", "vitest run --reporter=junit", 1),
    ("xml/nextest-junit.xml", "cat junit.xml", 100),
    ("xml/nextest-retries.xml", "cat junit.xml", 100),
    ("xml/libtest-junit.xml", "cargo test -- --format junit", 101),
    ("xml/node-test-junit.xml", "node --test --test-reporter=junit", 1),
    ("xml/node-rich.xml", "node --test --test-reporter=junit", 1),
    ("xml/mocha-xunit.xml", "mocha -R xunit", 1),
    ("xml/ruff-junit.xml", "ruff check --output-format junit", 1),
];

#[test]
fn tools_of_rust_are_understood() {
    understood(RUST, &Workspace::at("/home/dev/src/rust"));
}

#[test]
fn tools_of_python_are_understood() {
    understood(PYTHON, &Workspace::at("/home/dev/src/py"));
}

#[test]
fn tools_of_javascript_are_understood() {
    understood(JAVASCRIPT, &Workspace::at("/home/dev/src/js"));
}

#[test]
fn tools_of_go_are_understood() {
    understood(GO, &Workspace::at("/home/dev/src/go").with_go_module("demo"));
}

#[test]
fn compilers_of_c_are_understood() {
    understood(C, &Workspace::at("/home/dev/src/c"));
}

#[test]
fn junit_of_all_who_write_it_is_understood() {
    // They come from several trees of one workspace.
    understood(XML, &Workspace::at("/home/dev/src"));
}

fn said(command: &str, code: i32, out: &str, err: &str) -> Report {
    let (stdout, stderr) = (out.as_bytes(), err.as_bytes());
    read(&Run { command, exit: Exit::Code(code), stdout, stderr }, &Workspace::at("/src"))
}

#[test]
fn assertions_of_tape_are_counted_as_tape_counts_them_and_told_apart() {
    let tape = |third: &str| {
        let text = format!(
            "TAP version 13\n# adds\nok 1 should be equal\nnot ok 2 should be equal\n# parses\n{third} 3 should be equal\nok 4 should be equal\n\n1..4\n# tests 4\n# pass  3\n# fail  1\n"
        );
        said("tape test", 1, &text, "")
    };
    let (base, head) = (tape("ok"), tape("not ok"));
    assert_eq!((base.counts().tests.passed, base.counts().tests.failed), (3, 1));
    assert_eq!((head.counts().tests.passed, head.counts().tests.failed), (2, 2));
    let failing: Vec<String> = head
        .tests()
        .iter()
        .filter(|test| test.outcome.is_failure())
        .map(|test| test.name.to_string())
        .collect();
    assert_eq!(failing, ["adds › should be equal (2)", "parses › should be equal"]);
}

#[test]
fn unit_tests_are_told_under_their_own_program_with_verbose_cargo() {
    let err = "   Compiling demo v0.1.0\n     Running `rustc --crate-name demo -C metadata=0123456789abcdef`\n     Running `/src/target/debug/deps/demo-0123456789abcdef`\n   Doc-tests demo\n     Running `rustdoc --test src/lib.rs`\n";
    let out = "\nrunning 1 test\ntest tests::adds ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\nrunning 1 test\ntest src/lib.rs - f (line 1) ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
    let report = said("cargo test --verbose", 0, out, err);
    let suites: Vec<String> = report.tests().iter().map(|it| it.name.suite.to_string()).collect();
    assert_eq!(suites, ["demo", "demo (doc)"]);
}

#[test]
fn lines_that_say_nothing_are_no_findings() {
    let out =
        "> lint\nthe linter found 3 things that are wrong\n  `urltest_nvidia`,\n-----------\n";
    let report = said("npm run lint", 1, out, "");
    let messages: Vec<String> = report.findings().iter().map(|it| it.message.to_string()).collect();
    assert_eq!(messages, ["the linter found 3 things that are wrong"]);
}

#[test]
fn a_failure_of_pytest_shows_the_lines_before_it_and_no_colours() {
    let code = "        (1, 'x'),\n".repeat(60);
    let xml = format!(
        "<testsuites><testsuite name=\"pytest\"><testcase classname=\"tests.test_a\" name=\"test_size[1]\" file=\"tests/test_a.py\"><failure message=\"assert 1 == 2\">@pytest.mark.parametrize(\n{code}    def test_size(n):\n&gt;       #x1B[94massert#x1B[39;49;00m n == 2#x1B[90m#x1B[39;49;00m\nE       assert 1 == 2\n\ntests/test_a.py:70: AssertionError</failure></testcase></testsuite></testsuites>"
    );
    let report = said("pytest", 1, &xml, "");
    let finding = &report.findings()[0];
    let details = finding.details.as_deref().unwrap();
    assert!(details.contains("assert n == 2") && !details.contains("x1B"), "{details}");
    assert!(details.lines().count() < 12, "{details}");
    assert_eq!(finding.test.as_ref().unwrap().to_string(), "tests/test_a.py › test_size[1]");
}

#[test]
fn every_sample_is_read_by_a_test() {
    let told: BTreeSet<&str> =
        [RUST, PYTHON, JAVASCRIPT, GO, C, XML].concat().iter().map(|sample| sample.0).collect();
    let mut there = BTreeSet::new();
    for family in fs::read_dir(place()).unwrap() {
        let family = family.unwrap();
        for file in fs::read_dir(family.path()).unwrap() {
            let name =
                format!("{}/{}", family.file_name().display(), file.unwrap().file_name().display());
            there.insert(name.strip_suffix(".stderr").unwrap_or(&name).to_owned());
        }
    }
    assert_eq!(there.iter().map(String::as_str).collect::<BTreeSet<_>>(), told);
}

#[test]
fn a_brief_tells_what_to_mend_within_its_limit() {
    let workspace = Workspace::at("/home/dev/src/rust");
    let report = report(&("rust/cargo-test-workspace.txt", "cargo test", 101), &workspace);
    insta::assert_snapshot!("brief_whole", report.brief(8_000));
    insta::assert_snapshot!("brief_short", report.brief(900));
    let report = self::report(
        &("python/ruff-full.txt", "ruff check", 1),
        &Workspace::at("/home/dev/src/py"),
    );
    insta::assert_snapshot!("brief_of_a_linter", report.brief(3_000));
}

fn understood(samples: &[Sample], workspace: &Workspace) {
    for sample in samples {
        insta::assert_snapshot!(sample.0.replace('/', "-"), told(&report(sample, workspace)));
    }
}

fn place() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples")
}

fn report((file, command, code): &Sample, workspace: &Workspace) -> Report {
    let stdout = fs::read(place().join(file)).unwrap();
    let stderr = fs::read(place().join(format!("{file}.stderr"))).unwrap_or_default();
    read(&Run { command, exit: Exit::Code(*code), stdout: &stdout, stderr: &stderr }, workspace)
}

/// All of a report but most of the details.
fn told(report: &Report) -> String {
    let mut text = String::new();
    let tools: Vec<&str> = report.tools().map(feedback::finding::Tool::name).collect();
    let counts = report.counts();
    let tests = counts.tests;
    writeln!(text, "tools: {}", tools.join(", ")).unwrap();
    writeln!(text, "errors {}, warnings {}", counts.errors, counts.warnings).unwrap();
    writeln!(text, "passed {}, failed {}, skipped {}", tests.passed, tests.failed, tests.skipped)
        .unwrap();
    for test in report.tests() {
        write!(text, "test {}: {}", test.name, test.outcome.word()).unwrap();
        let place = test.place.to_string();
        if !place.is_empty() {
            write!(text, " at {place}").unwrap();
        }
        if let Some(message) = test.message.as_ref().filter(|_| !test.outcome.is_failure()) {
            write!(text, " ({message})").unwrap();
        }
        writeln!(text).unwrap();
    }
    for finding in report.findings() {
        writeln!(
            text,
            "\n{} of {} at `{}`",
            finding.kind.word(),
            finding.tool.name(),
            finding.place
        )
        .unwrap();
        let labels = [
            ("rule", finding.rule.as_deref()),
            ("expected", finding.expected.as_deref()),
            ("actual", finding.actual.as_deref()),
        ];
        if let Some(test) = &finding.test {
            writeln!(text, "  test: {test}").unwrap();
        }
        for line in finding.message.lines() {
            writeln!(text, "  message: {line}").unwrap();
        }
        for (label, value) in labels {
            for line in value.into_iter().flat_map(str::lines) {
                writeln!(text, "  {label}: {line}").unwrap();
            }
        }
        let details = finding.details.as_deref().unwrap_or_default();
        for line in details.lines().take(3) {
            writeln!(text, "  | {}", line.trim_end()).unwrap();
        }
        if details.lines().count() > 3 {
            writeln!(text, "  | ({} lines)", details.lines().count()).unwrap();
        }
    }
    text
}
