//! What `go test` prints, with `-v` and without.
//!
//! ```text
//! === RUN   TestAdd                       with -v; then what it prints comes here
//! --- FAIL: TestAdd (0.00s)
//!     a_test.go:7: Add(2, 2) = 0, want 4
//! FAIL    demo    0.011s
//! ```

use std::time::Duration;

use super::package::Package;
use crate::{
    finding::{Finding, Kind, Tool},
    location::Workspace,
    output::lines,
    report::Report,
    test::Outcome,
};

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("--- FAIL: ")
        || text.contains("--- PASS: ")
        || ["FAIL\t", "ok  \t", "?   \t"]
            .iter()
            .any(|sign| text.starts_with(sign) || text.contains(&format!("\n{sign}")))
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut report = Report::new();
    let mut package = Package::default();
    let mut current = String::new();
    // Which tests ran when time was up is said after it.
    let mut timeout = String::new();
    for line in lines(text) {
        if let Some((name, failed)) = package_line(line) {
            std::mem::take(&mut package).report(name, &mut report, workspace);
            current.clear();
            // The compiler has said why, on the other stream; here it is only named.
            if failed && line.ends_with("[setup failed]") {
                report.find(Finding::new(
                    Kind::Error,
                    Tool::GoTest,
                    &format!("the package `{name}` could not be set up"),
                ));
            }
        } else if let Some(test) = running(line) {
            package.started(test);
            test.clone_into(&mut current);
        } else if let Some((test, outcome, took)) = ended(line) {
            package.ended(test, outcome, took);
            test.clone_into(&mut current);
        } else if let Some(test) = still_running(line) {
            package.started(test);
            package.printed(test, &timeout);
            test.clone_into(&mut current);
        } else if line.starts_with("panic: test timed out after ") {
            line.clone_into(&mut timeout);
        } else if !["FAIL", "PASS", "ok"].contains(&line) {
            package.printed(&current, line);
        }
    }
    package.report("", &mut report, workspace);
    // Without `-v`, those that pass have no name.
    let has_tests = |line: &str| {
        let is_empty = line.contains("[no tests to run]") || line.contains("[no test files]");
        !is_empty && (line.starts_with("ok  \t") || line.starts_with("FAIL\t"))
    };
    if !text.contains("=== RUN ") && lines(text).any(has_tests) {
        report.silent();
    }
    report
}

/// `=== RUN   TestAdd`, and what goes on after a pause.
pub(crate) fn running(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("=== ")?;
    let (word, test) = rest.split_once(' ')?;
    ["RUN", "CONT", "NAME"].contains(&word).then_some(test.trim())
}

/// `    --- FAIL: TestTable/one (0.00s)`
pub(crate) fn ended(line: &str) -> Option<(&str, Outcome, Option<Duration>)> {
    let (word, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": ")?;
    let outcome = match word {
        "PASS" => Outcome::Passed,
        "FAIL" => Outcome::Failed,
        "SKIP" => Outcome::Skipped,
        _ => return None,
    };
    let (test, took) = rest.strip_suffix("s)")?.rsplit_once(" (")?;
    Some((test, outcome, took.parse().ok().and_then(|took| Duration::try_from_secs_f64(took).ok())))
}

/// `\t\tTestSlow (0s)`, in the list of those that ran when time was up.
fn still_running(line: &str) -> Option<&str> {
    let (test, took) = line.strip_prefix("\t\t")?.split_once(" (")?;
    (test.starts_with("Test") && !test.contains(' ') && took.ends_with("s)")).then_some(test)
}

/// The package in `FAIL\tdemo\t0.011s`, and whether it failed.
fn package_line(line: &str) -> Option<(&str, bool)> {
    let (word, rest) = line.split_once('\t')?;
    let failed = match word.trim_end() {
        "FAIL" => true,
        "ok" | "?" => false,
        _ => return None,
    };
    let name = rest.split(['\t', ' ']).next()?;
    (!name.is_empty()).then_some((name, failed))
}
