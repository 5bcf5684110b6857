//! What a Rust test prints when it fails: a panic, an `Error:`, or a panic that did not come.

use std::collections::BTreeMap;

use crate::{
    finding::{Finding, Kind, Tool},
    located,
    location::{Location, Workspace},
    output::{Gathered, lines, plain},
    report::Report,
    test::{Outcome, TestCase, TestName},
};

/// Why a test failed, as far as its output tells.
#[derive(Clone, Debug, Default)]
struct Reason {
    message: String,
    place: Location,
    left: String,
    right: String,
    expected: String,
    actual: String,
    details: Gathered,
}

/// A failed test, with what it printed: the test and the finding.
pub(crate) fn failed(
    tool: &Tool,
    test: TestCase,
    printed: &str,
    workspace: &Workspace,
) -> (TestCase, Finding) {
    let reason = Reason::new(printed, workspace);
    let message = match (reason.message.as_str(), test.outcome) {
        ("", Outcome::TimedOut) => "the test timed out",
        ("", _) => "the test failed and said nothing",
        (message, _) => message,
    };
    // A documentation test panics in a file that was made for it.
    let elsewhere = reason.place.file().is_none() && test.place != Location::Unsaid;
    let place = if elsewhere { test.place.clone() } else { reason.place };
    // `assert_eq!(found, wanted)` is how most people write it.
    let finding = Finding::new(Kind::Failure, tool.clone(), message)
        .at(place.clone())
        .of_test(test.name.clone())
        .expected(if reason.expected.is_empty() { &reason.right } else { &reason.expected })
        .actual(if reason.actual.is_empty() { &reason.left } else { &reason.actual })
        .details(reason.details.as_str());
    (test.at(place).message(message), finding)
}

/// With `--nocapture`, panics are not told with their tests but as they come, often on the other stream. The thread has the test's name.
pub(crate) fn overheard(text: &str, report: &mut Report, workspace: &Workspace) {
    let silent: BTreeMap<String, TestCase> =
        report.unexplained().map(|test| (test.name.name.to_string(), test.clone())).collect();
    if silent.is_empty() {
        return;
    }
    let mut open: Option<(TestCase, Gathered)> = None;
    for line in lines(text) {
        if panicked_at(line).is_some() {
            finish(&mut open, report, workspace);
            let thread = line.strip_prefix("thread '").and_then(|line| line.split_once('\''));
            let failing = thread.and_then(|(thread, _)| silent.get(thread));
            open = failing.map(|test| (test.clone(), Gathered::default()));
        } else if line.is_empty() || line.starts_with("error: ") {
            finish(&mut open, report, workspace);
        }
        if let Some((_, printed)) = &mut open {
            printed.line(line);
        }
    }
    finish(&mut open, report, workspace);
}

fn finish(open: &mut Option<(TestCase, Gathered)>, report: &mut Report, workspace: &Workspace) {
    if let Some((test, printed)) = open.take() {
        let (test, finding) = failed(&Tool::Libtest, test, printed.as_str(), workspace);
        report.explain(test);
        report.find_once(finding);
    }
}

impl Reason {
    fn new(printed: &str, workspace: &Workspace) -> Self {
        let mut reason = Self::default();
        let mut in_message = false;
        let mut frame = None;
        for line in lines(&plain(printed)) {
            let bare = line.trim();
            if std_frame(&mut frame, bare, &mut reason.details) {
                in_message = false;
                continue;
            }
            if is_noise(bare) {
                continue;
            }
            reason.details.line(line);
            if let Some(place) = panicked_at(bare) {
                // The first panic is the cause; what panics while unwinding is not.
                if reason.message.is_empty() {
                    reason.place = located::place(place, workspace);
                    in_message = true;
                }
            } else if let Some(left) = bare.strip_prefix("left:").filter(|_| reason.left.is_empty())
            {
                left.trim().clone_into(&mut reason.left);
                in_message = false;
            } else if let Some(right) =
                bare.strip_prefix("right:").filter(|_| reason.right.is_empty())
            {
                right.trim().clone_into(&mut reason.right);
                in_message = false;
            } else if let Some(at) = bare.strip_prefix("note: test did not panic as expected") {
                "the test did not panic as expected".clone_into(&mut reason.message);
                reason.place = located::place(at.trim_start_matches(" at "), workspace);
            } else if let Some(panic) = bare.strip_prefix("panic message:") {
                panic.trim().clone_into(&mut reason.actual);
            } else if let Some(substring) = bare.strip_prefix("expected substring:") {
                substring.trim().clone_into(&mut reason.expected);
            } else if in_message {
                in_message =
                    !(bare.is_empty() || bare.starts_with("note: ") || bare == "stack backtrace:");
                if in_message && reason.message.len() < crate::text::MESSAGE_BYTES {
                    reason.message.push_str(bare);
                    reason.message.push('\n');
                }
            } else if let Some(error) =
                bare.strip_prefix("Error: ").filter(|_| reason.message.is_empty())
            {
                error.clone_into(&mut reason.message);
            }
        }
        reason
    }
}

/// Where a panic was: `thread 'name' (7) panicked at src/lib.rs:9:25:`.
fn panicked_at(line: &str) -> Option<&str> {
    let (_, place) = line.strip_prefix("thread '")?.split_once("panicked at ")?;
    // Before Rust 1.73 the message stood first, in quotes, on the same line.
    let place = place.rsplit_once("', ").map_or(place, |(_, place)| place);
    Some(place.trim_end_matches(':'))
}

/// What libtest and nextest print around every failure.
fn is_noise(line: &str) -> bool {
    line == "running 1 test"
        || line == "failures:"
        || line.starts_with("test result: ")
        || line.starts_with("note: run with `RUST_BACKTRACE=1`")
        || line.starts_with("test ") && line.ends_with(" ... FAILED")
        || line.ends_with(" ───")
}

/// Leaves out the two lines of a backtrace that are about the standard library. The name of a frame waits until its place is known.
fn std_frame(waiting: &mut Option<String>, line: &str, details: &mut Gathered) -> bool {
    let numbered = line.split_once(": ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    if numbered {
        if let Some(frame) = waiting.replace(line.to_owned()) {
            details.line(&frame);
        }
        return true;
    }
    let Some(frame) = waiting.take() else { return false };
    if line.starts_with("at /rustc/") {
        return true;
    }
    details.line(&frame);
    false
}

/// The name that a test keeps when lines move: documentation tests have the number of their line in it.
pub(crate) fn name(suite: &str, name: &str, workspace: &Workspace) -> (TestName, Location) {
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let Some((stem, line)) = name.split_once(" (line ") else {
        return (TestName::new(suite, name), Location::Unsaid);
    };
    let Some((line, after)) = line.split_once(')') else {
        return (TestName::new(suite, name), Location::Unsaid);
    };
    let file = stem.split_once(" - ").map_or(stem, |(file, _)| file);
    let place = workspace.place(file, line.parse().ok(), None);
    (TestName::new(suite, &format!("{stem}{after}")), place)
}
