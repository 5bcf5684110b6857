//! What a JavaScript test threw: a message, two sides of a comparison, and where it was called from.

use crate::{
    finding::{Finding, Kind, Tool},
    located,
    location::{Location, Workspace},
    output::{Gathered, lines, plain},
    test::{Outcome, TestCase, TestName},
    text::MESSAGE_BYTES,
};

/// Why a test failed, as far as its output tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thrown {
    pub(crate) message: String,
    pub(crate) expected: String,
    pub(crate) actual: String,
    pub(crate) place: Location,
    details: Gathered,
}

impl Thrown {
    pub(crate) fn new(printed: &str, workspace: &Workspace) -> Self {
        let mut thrown = Self::default();
        let (mut in_message, mut in_difference, mut expected_first) = (true, false, true);
        for line in lines(&plain(printed)) {
            let bare = line.trim();
            thrown.details.line(line);
            if let Some(place) = frame(bare, workspace) {
                in_message = false;
                in_difference = false;
                if thrown.place == Location::Unsaid {
                    thrown.place = place;
                }
            } else if bare.starts_with("- Expected") || bare == "+ actual - expected" {
                // What caused it may tell the same again.
                let first = thrown.expected.is_empty() && thrown.actual.is_empty();
                (in_message, in_difference, expected_first) = (false, first, true);
            } else if bare == "+ expected - actual" {
                (in_message, in_difference, expected_first) = (false, true, false);
            } else if let Some(value) = said(bare, "Expected") {
                in_message = false;
                thrown.expected = pick(&thrown.expected, value);
            } else if let Some(value) = said(bare, "Received") {
                in_message = false;
                thrown.actual = pick(&thrown.actual, value);
            } else if in_difference {
                let (minus, plus) = if expected_first {
                    (&mut thrown.expected, &mut thrown.actual)
                } else {
                    (&mut thrown.actual, &mut thrown.expected)
                };
                add(minus, bare.strip_prefix('-'));
                add(plus, bare.strip_prefix('+').filter(|line| !line.starts_with(" Received")));
            } else if in_message && bare.is_empty() {
                in_message = thrown.message.is_empty();
            } else if in_message && !bare.starts_with("at ") && thrown.message.len() < MESSAGE_BYTES
            {
                thrown.message.push_str(bare);
                thrown.message.push('\n');
            }
        }
        thrown
    }

    pub(crate) fn timed_out(&self) -> bool {
        ["Exceeded timeout of ", "Test timed out in ", "test timed out after "]
            .iter()
            .any(|sign| self.message.contains(sign))
    }

    /// The finding about a test, and the test.
    pub(crate) fn failed(&self, tool: &Tool, test: TestCase) -> (TestCase, Finding) {
        let outcome = if self.timed_out() { Outcome::TimedOut } else { test.outcome };
        let place =
            if self.place == Location::Unsaid { test.place.clone() } else { self.place.clone() };
        let finding =
            self.finding(tool, Kind::Failure).at(place.clone()).of_test(test.name.clone());
        (TestCase { outcome, ..test }.at(place).message(&finding.message), finding)
    }

    pub(crate) fn finding(&self, tool: &Tool, kind: Kind) -> Finding {
        let message = if self.message.trim().is_empty() {
            "it failed and said nothing"
        } else {
            &self.message
        };
        Finding::new(kind, tool.clone(), message)
            .at(self.place.clone())
            .expected(&self.expected)
            .actual(&self.actual)
            .details(self.details.as_str())
    }
}

/// The name of a test in these groups.
pub(crate) fn name<'a>(
    suite: &str,
    groups: impl Iterator<Item = &'a str>,
    title: &str,
) -> TestName {
    let mut name = String::new();
    for group in groups {
        // A name is cut anyway; nobody may make us write megabytes for each test.
        if name.len() < crate::text::LABEL_BYTES {
            name.push_str(group);
            name.push_str(" › ");
        }
    }
    name.push_str(title);
    TestName::new(suite, &name)
}

/// What a suite is called: the file, from the root if it is one of the workspace.
pub(crate) fn suite(path: &str, workspace: &Workspace) -> String {
    workspace.file(path).map_or_else(|| path.to_owned(), |file| file.to_string())
}

/// The place in the workspace, outside of `node_modules`, that a line of a call stack names.
fn frame(line: &str, workspace: &Workspace) -> Option<Location> {
    let called = ["at ", "❯ "].iter().find_map(|prefix| line.strip_prefix(prefix));
    let called = match called {
        Some(called) => called,
        // Node's TAP has stacks without `at`.
        None if line.ends_with(')') && line.contains(" (") => line,
        None => return None,
    };
    let place = match called.strip_suffix(')').and_then(|called| called.rsplit_once('(')) {
        Some((_, place)) => place,
        None => called.rsplit_once(' ').map_or(called, |(_, place)| place),
    };
    let (path, line, column) = located::split(place);
    if line.is_none() || path.contains("node_modules/") || path.starts_with("node:") {
        return None;
    }
    let place = workspace.place(path, line, column);
    place.file().is_some().then_some(place)
}

/// What follows the colon of `Expected: 4` and `Expected pattern: /b/`.
fn said<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (label, value) = line.strip_prefix(word)?.split_once(':')?;
    let label_is_short =
        label.len() < 24 && label.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ');
    (label_is_short && !value.trim().is_empty()).then_some(value.trim())
}

fn pick(known: &str, value: &str) -> String {
    if known.is_empty() { value.to_owned() } else { known.to_owned() }
}

fn add(side: &mut String, line: Option<&str>) {
    if let Some(line) = line
        && side.len() < MESSAGE_BYTES
    {
        if !side.is_empty() {
            side.push('\n');
        }
        side.push_str(line.trim());
    }
}
