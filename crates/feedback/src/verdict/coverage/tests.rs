//! Reports as the tools write them, and as nobody should.

use proptest::prelude::*;

use super::*;

fn workspace() -> Workspace {
    Workspace::at("/home/dev/src").with_go_module("example.com/m")
}

fn lines(text: &str) -> Vec<String> {
    let coverage = read(text.as_bytes(), &workspace()).unwrap();
    let each = coverage.files.iter().flat_map(|(file, lines)| {
        lines.iter().map(move |(line, hit)| format!("{file}:{line} {hit:?}"))
    });
    each.collect()
}

#[test]
fn lcov_is_read() {
    let report = "TN:\nSF:/home/dev/src/a.js\nFN:1,f\nDA:1,5\nDA:2,0\nDA:3,-1\nend_of_record\nDA:9,1\nSF:/etc/x.js\nDA:1,1\nend_of_record\n";
    assert_eq!(lines(report), ["a.js:1 Run", "a.js:2 Missed", "a.js:3 Run"]);
}

#[test]
fn of_two_tests_of_one_line_the_one_that_runs_it_counts() {
    assert_eq!(lines("SF:a.js\nDA:1,0\nDA:1,2\nDA:1,0\n"), ["a.js:1 Run"]);
}

#[test]
fn cobertura_is_read_from_its_sources() {
    let report = r#"<?xml version="1.0"?><!DOCTYPE coverage SYSTEM "http://example.com/x.dtd">
        <coverage><sources><source>/usr/lib</source><source>/home/dev/src/pkg</source></sources><packages><package><classes>
        <class name="m" filename="m&amp;n.py"><methods/><lines><line number="1" hits="1"/><line number="2" hits="0"></line></lines></class>
        </classes></package></packages></coverage>"#;
    assert_eq!(lines(report), ["pkg/m&n.py:1 Run", "pkg/m&n.py:2 Missed"]);
}

#[test]
fn coverage_py_is_read() {
    let report = r#"{"meta":{},"files":{"pkg/a.py":{"executed_lines":[1,2],"summary":{},"missing_lines":[4]},"../x.py":{"executed_lines":[1],"missing_lines":[]}}}"#;
    assert_eq!(lines(report), ["pkg/a.py:1 Run", "pkg/a.py:2 Run", "pkg/a.py:4 Missed"]);
}

#[test]
fn go_profiles_are_read_as_files_of_their_module() {
    let report = "mode: atomic\nexample.com/m/p/a.go:3.10,4.2 1 0\nexample.com/m/p/a.go:4.2,5.2 1 7\nexample.org/other/b.go:1.1,2.2 1 1\n";
    assert_eq!(lines(report), ["p/a.go:3 Missed", "p/a.go:4 Run", "p/a.go:5 Run"]);
}

#[test]
fn what_is_no_report_is_refused() {
    let wrong: [(&str, CoverageError); 8] = [
        ("", CoverageError::Unknown),
        ("hello", CoverageError::Unknown),
        ("{}", CoverageError::Unknown),
        ("{", CoverageError::Malformed("JSON")),
        ("<html></html>", CoverageError::Unknown),
        (
            "<coverage><class filename='a'><line number='x' hits='1'/>",
            CoverageError::Malformed("XML"),
        ),
        ("SF:a\nDA:x,1\n", CoverageError::Malformed("lcov")),
        ("mode: set\na.go:1.1,4000000000.2 1 1\n", CoverageError::Malformed("Go profile")),
    ];
    for (text, error) in wrong {
        assert_eq!(read(text.as_bytes(), &workspace()), Err(error), "{text}");
    }
    assert_eq!(read(b"\xff\xfe", &workspace()), Err(CoverageError::Malformed("text")));
}

#[test]
fn a_small_report_that_names_many_lines_is_not_endless() {
    let block = "example.com/m/a.go:1.1,20000.1 1 1\n".repeat(1_000);
    assert_eq!(
        read(format!("mode: set\n{block}").as_bytes(), &workspace()),
        Err(CoverageError::Long)
    );
}

const DIFF: &str = "diff --git a/a.js b/a.js
--- a/a.js
+++ b/a.js
@@ -1,3 +1,5 @@
 one
+two
+++ b/evil.js
 three
-four
+five
@@ -10 +12,0 @@
-gone
diff --git a/old.js b/old.js
--- a/old.js
+++ /dev/null
@@ -1 +0,0 @@
-gone
--- /dev/null
+++ b/new.js
@@ -0,0 +1,2 @@
+a
+b
\\ No newline at end of file
";

#[test]
fn a_difference_names_the_lines_that_it_adds_and_cannot_pretend_to_be_another_file() {
    let changed = ChangedLines::of_diff(DIFF);
    let told: Vec<String> =
        changed.0.iter().map(|(file, lines)| format!("{file} {lines:?}")).collect();
    assert_eq!(told, ["a.js {2, 3, 5}", "new.js {1, 2}"]);
}

#[test]
fn only_changed_lines_count_and_silence_is_not_zero() {
    let coverage =
        read(b"SF:a.js\nDA:1,0\nDA:2,1\nDA:3,0\nDA:5,0\nDA:9,0\n", &workspace()).unwrap();
    let summary = of_changes(&coverage, &ChangedLines::of_diff(DIFF)).unwrap();
    assert_eq!((summary.covered, summary.missed, summary.files.len()), (1, 2, 1));
    assert_eq!(summary.files[0].missed, [3..=3, 5..=5]);
    insta::assert_snapshot!(summary.to_markdown(), @r"
    1 of 3 changed lines that can be run are run by tests.

    Not run:

    - `a.js`: 3, 5
    ");
    assert_eq!(of_changes(&Coverage::default(), &ChangedLines::of_diff(DIFF)), None);
}

proptest! {
    #[test]
    fn no_report_and_no_difference_breaks_the_reader(
        begin in prop::sample::select(vec!["mode: set\n", "{\"files\":{", "<coverage>", "SF:a\n", "TN:", "+++ b/a\n@@ -1 +1 @@\n", ""]),
        rest in "(\\PC|\n|[0-9<>:,.\"=/+@-]){0,200}",
    ) {
        let text = format!("{begin}{rest}");
        if let Ok(coverage) = read(text.as_bytes(), &workspace()) {
            prop_assert!(coverage.lines <= LINES_LIMIT);
            prop_assert!(coverage.files().all(|file| !file.as_str().starts_with('/') && !file.as_str().contains("..")));
        }
        let changed = ChangedLines::of_diff(&text);
        prop_assert!(changed.0.values().map(std::collections::BTreeSet::len).sum::<usize>() <= text.len());
    }
}
