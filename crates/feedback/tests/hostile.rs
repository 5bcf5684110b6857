//! Output that was written to break us: nothing panics, every limit holds, and no path leaves the workspace.

#![expect(clippy::indexing_slicing, reason = "helpers of tests, outside of any test function")]

use feedback::{
    Exit, Format, Run, STREAM_BYTES,
    location::{Location, PATH_BYTES, Workspace},
    parse, read,
    report::{MOST_FINDINGS, MOST_TESTS, Report},
    text::{DETAILS_BYTES, LABEL_BYTES, MESSAGE_BYTES},
};
use proptest::prelude::*;

/// Every language, each of which must stand whatever it is given.
const FORMATS: &[Format] = &[
    Format::Documents,
    Format::Rustc,
    Format::Libtest,
    Format::Nextest,
    Format::Pytest,
    Format::Unittest,
    Format::Ruff,
    Format::Mypy,
    Format::Jest,
    Format::Vitest,
    Format::NodeTest,
    Format::Tap,
    Format::Eslint,
    Format::Tsc,
    Format::GoTest,
    Format::GoBuild,
    Format::C,
    Format::Anything,
];

/// Lines that mean something to somebody; what is between them is up to chance.
const LINES: &[&str] = &[
    "error[E0308]: mismatched types",
    " --> src/../../etc/passwd:1:2",
    "running 2 tests",
    "test a::b ... FAILED",
    "test a::b ... ok",
    "---- a::b stdout ----",
    "thread 'a' (1) panicked at /etc/shadow:9:9:",
    "  left: 1",
    " right: 2",
    "test result: FAILED. 18446744073709551615 passed; 18446744073709551615 failed; 1 ignored",
    "        FAIL [   0.412s] (1/3) demo tests::adds",
    "  TRY 2 PASS [   0.011s] (11/13) demo::whole flaky",
    "     Summary [   0.457s] 3 tests run: 2 passed, 1 failed",
    "= test session starts =",
    "=== FAILURES ===",
    "=== ERRORS ===",
    "___ test_a ___",
    "___ ERROR at setup of test_a ___",
    "E   assert 1 == 2",
    "=== short test summary info ===",
    "FAILED ../../a.py::test_a - assert 1 == 2",
    "ERROR a.py::test_a[x - y] - z",
    "18446744073709551615 failed, 18446744073709551615 errors in 0.1s",
    "a.py:4294967295:1: F401 [*] unused",
    "a.py:3: error: no  [assignment]",
    "FAIL ../a.test.js",
    "  ● a › b",
    "    ✕ b (1e400 ms)",
    "Tests: 1 failed, 18446744073709551615 passed",
    " FAIL  a.spec.ts > b > c",
    " Test Files  1 failed (1)",
    "      Tests  1 failed | 18446744073709551615 passed (2)",
    "⎯⎯⎯⎯[1/2]⎯",
    "TAP version 13",
    "# Subtest: a",
    "not ok 1 - a # SKIP",
    "not ok 99999999999999999999 - a {",
    "  ---",
    "  ...",
    "ℹ tests 1",
    "ℹ pass 18446744073709551615",
    "▶ a",
    "✖ failing tests:",
    "test at ../../x.js:1:1",
    "✖ a (NaNms)",
    "/abs/a.js",
    "  1:2  error  no  rule",
    "✖ 1 problem (1 error, 0 warnings)",
    "../../t.ts(1,7): error TS2322: Type 'a' is not assignable to type 'b'.",
    "=== RUN   TestA",
    "--- FAIL: TestA (1e999s)",
    "    --- FAIL: TestA/b (0.00s)",
    "panic: test timed out after 1s",
    "\t\tTestA (1s)",
    "FAIL\tdemo\t0.1s",
    "# demo",
    "vet: ./b.go:2:3: no",
    "a.c:2:3: warning: odd [-Wodd]",
    "x.c:(.text+0x5): undefined reference to `y'",
    "Traceback (most recent call last):",
    "  File \"/etc/passwd\", line 3, in f",
    "::error file=../../x,line=1::no%0A",
    "{\"reason\":\"compiler-message\",\"message\":{\"level\":\"error\",\"message\":\"m\",\"spans\":[{\"is_primary\":true,\"file_name\":\"/etc/x\",\"line_start\":1}]}}",
    "{\"type\":\"test\",\"event\":\"failed\",\"name\":\"a$b#2\",\"exec_time\":1e400}",
    "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"T\",\"Output\":\"a.go:1: x\"}",
    "{\"Action\":\"fail\",\"Package\":\"p\"}",
    "<?xml version=\"1.0\"?>",
    "<testsuites>",
    "<testsuite name=\"s\">",
    "<testcase name=\"a\" classname=\"/etc\" time=\"-1\">",
    "<failure message=\"&#x1b;[31m&lol;\">E  x</failure>",
    "</testcase>",
    "</testsuite>",
];

/// Holds a report against everything that it promises.
fn check(report: &Report) -> Result<(), TestCaseError> {
    prop_assert!(report.findings().len() <= MOST_FINDINGS);
    prop_assert!(report.tests().len() <= MOST_TESTS);
    for finding in report.findings() {
        prop_assert!(finding.message.len() <= MESSAGE_BYTES);
        for side in [&finding.expected, &finding.actual].into_iter().flatten() {
            prop_assert!(!side.is_empty() && side.len() <= MESSAGE_BYTES);
        }
        prop_assert!(finding.details.as_ref().is_none_or(|details| details.len() <= DETAILS_BYTES));
        prop_assert!(finding.rule.as_ref().is_none_or(|rule| rule.len() <= LABEL_BYTES));
        check_place(&finding.place)?;
    }
    for test in report.tests() {
        prop_assert!(test.name.name.len() <= LABEL_BYTES && test.name.suite.len() <= LABEL_BYTES);
        prop_assert_eq!(report.test(&test.name), Some(test));
        check_place(&test.place)?;
    }
    for limit in [0, 10, 500, 20_000] {
        let brief = report.brief(limit);
        prop_assert!(brief.len() <= limit);
        prop_assert!(
            !brief
                .contains(|character: char| character.is_control() && !"\n\t".contains(character))
        );
    }
    Ok(())
}

fn check_place(place: &Location) -> Result<(), TestCaseError> {
    if let Some(file) = place.file() {
        let file = file.as_str();
        prop_assert!(file.len() <= PATH_BYTES * 2 && !file.starts_with('/'), "{}", file);
        prop_assert!(file.split('/').all(|part| !["", ".", ".."].contains(&part)), "{}", file);
        prop_assert!(place.line() != Some(0) && place.column() != Some(0));
    }
    Ok(())
}

fn check_all(bytes: &[u8]) -> Result<(), TestCaseError> {
    let workspace = Workspace::at("/home/dev/src").with_directory("a").with_go_module("demo");
    for format in FORMATS {
        check(&parse(*format, bytes, &workspace))?;
    }
    for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(9), Exit::TimedOut] {
        let (stdout, stderr) = bytes.split_at(bytes.len() / 2);
        let report = read(&Run { command: "make test", exit, stdout, stderr }, &workspace);
        check(&report)?;
        prop_assert!(
            exit.is_success() || !report.findings().is_empty(),
            "a check that failed says so"
        );
    }
    Ok(())
}

/// Lines of [`LINES`] with other bytes in them and between them.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(LINES).prop_map(|line| line.as_bytes().to_vec());
    let indented = (prop::sample::select(LINES), 0..9_usize)
        .prop_map(|(line, indent)| format!("{}{line}", " ".repeat(indent)).into_bytes());
    let broken = (prop::sample::select(LINES), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |(line, at, byte)| {
            let mut line = line.as_bytes().to_vec();
            let at = at.index(line.len());
            line[at] = byte;
            line
        },
    );
    let cut = (prop::sample::select(LINES), any::<prop::sample::Index>())
        .prop_map(|(line, at)| line.as_bytes()[..at.index(line.len())].to_vec());
    let random = prop::collection::vec(any::<u8>(), 0..40);
    let line = prop_oneof![6 => known, 2 => indented, 2 => broken, 2 => cut, 1 => random];
    let end = prop::sample::select(&["\n", "\n", "\n", "\r\n", "\r", "\n\n", ""][..]);
    prop::collection::vec((line, end), 0..40).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_printed_the_report_keeps_its_promises(bytes in lines()) {
        check_all(&bytes)?;
    }

    #[test]
    fn bytes_of_chance_are_no_report_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check_all(&bytes)?;
    }
}

#[test]
fn much_of_any_one_line_is_read_within_limits() {
    let workspace = Workspace::at("/home/dev/src");
    for line in LINES {
        let bytes = format!("{line}\n").repeat((1 << 17) / (line.len() + 1));
        let run =
            Run { command: "make", exit: Exit::Code(1), stdout: bytes.as_bytes(), stderr: &[] };
        check(&read(&run, &workspace)).unwrap();
    }
}

#[test]
fn documents_that_are_too_deep_too_dense_or_have_entities_are_not_followed() {
    let workspace = Workspace::at("/home/dev/src");
    let deep_json = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_xml = "<testsuite><x>".repeat(100_000);
    let dense = format!("[{{\"filePath\":\"a.js\",\"messages\":[{}1]}}]", "1,".repeat(1_000_000));
    let entities = "<!DOCTYPE a [<!ENTITY b \"cc\">]><testsuite><testcase name=\"&b;\"><failure>&b;</failure></testcase></testsuite>";
    for document in [deep_json, deep_xml, dense, format!("<?xml version=\"1.0\"?>{entities}")] {
        let report = parse(Format::Documents, document.as_bytes(), &workspace);
        assert!(report.is_empty(), "{}", &document[..60]);
    }
    let attributes = (0..100_000)
        .fold(String::from("<testsuite"), |all, number| format!("{all} a{number}=\"\""))
        + "><testcase name=\"a\"/></testsuite>";
    assert_eq!(parse(Format::Documents, attributes.as_bytes(), &workspace).tests().len(), 1);
}

#[test]
fn what_is_beyond_the_limit_of_a_stream_is_said() {
    let workspace = Workspace::at("/home/dev/src");
    let mut bytes = b"src/a.c:1:2: error: first\n".to_vec();
    let filler = format!("{}\n", "x".repeat(4_000));
    bytes.extend_from_slice(filler.repeat(STREAM_BYTES * 2 / filler.len()).as_bytes());
    bytes.extend_from_slice(b"src/b.c:3:4: error: last\n");
    let report = read(
        &Run { command: "make", exit: Exit::Code(2), stdout: &bytes, stderr: &[] },
        &workspace,
    );
    let places: Vec<String> =
        report.findings().iter().map(|finding| finding.place.to_string()).collect();
    assert_eq!(places, ["src/a.c:1:2", "src/b.c:3:4"]);
    assert!(report.left_off().bytes > STREAM_BYTES as u64 / 2);
    assert!(report.brief(2_000).contains("Not looked at: "));
}

#[test]
fn a_check_that_fails_without_a_word_still_has_a_finding() {
    let workspace = Workspace::at("/home/dev/src");
    let run = |exit| Run { command: "make test", exit, stdout: &[], stderr: &[] };
    let told = |exit| read(&run(exit), &workspace).brief(1_000);
    assert_eq!(told(Exit::Code(0)), "0 errors, 0 warnings\n");
    assert!(told(Exit::Code(3)).contains("the check failed and printed nothing (make)"));
    assert!(told(Exit::TimedOut).contains("its time was up"));
    assert!(told(Exit::Signal(11)).contains("signal 11"));
}
