//! The XML of `JUnit`, in which nearly every test runner can write.
//!
//! It is read as a stream, element by element. Only the five entities of XML and numbers of characters are known; a document with a DOCTYPE,
//! or with elements too deep, is not read further.

use std::time::Duration;

use quick_xml::{
    Reader,
    escape::unescape,
    events::{BytesStart, Event},
};

use crate::{
    finding::{Finding, Kind, Tool},
    javascript::thrown::Thrown,
    location::{Location, Workspace},
    output::{self, Gathered},
    python::pytest::Trace,
    report::Report,
    rust::panic,
    test::{Outcome, TestCase, TestName},
};

/// Elements within elements that are followed.
const DEEPEST: usize = 64;
/// Attributes of an element that are looked at.
const MOST_ATTRIBUTES: usize = 64;

/// Whether a document may begin here.
pub(crate) fn begins(text: &str) -> bool {
    ["<?xml", "<testsuites", "<testsuite", "<testcase"].iter().any(|sign| text.starts_with(sign))
}

/// Reads the document that the text begins with, and says how long it is. Nothing, if it is none of ours.
pub(crate) fn read(text: &str, workspace: &Workspace) -> Option<(Report, usize)> {
    let mut xml = Reader::from_str(text);
    xml.config_mut().allow_dangling_amp = true;
    let mut state = State {
        workspace,
        report: Report::new(),
        suites: Vec::new(),
        depth: 0,
        case: None,
        inside: Inside::Other,
        retry: None,
    };
    let mut any = false;
    loop {
        match xml.read_event() {
            Ok(Event::Start(element)) => {
                any |= known(element.local_name().into_inner());
                state.depth += 1;
                // A root that is not ours, or something that nobody writes by accident.
                if !any || state.depth > DEEPEST {
                    return None;
                }
                state.start(&element);
            }
            Ok(Event::Empty(element)) => {
                any |= known(element.local_name().into_inner());
                if !any {
                    return None;
                }
                state.depth += 1;
                state.start(&element);
                state.end(element.local_name().into_inner());
                state.depth -= 1;
            }
            Ok(Event::End(element)) => {
                state.end(element.local_name().into_inner());
                state.depth = state.depth.saturating_sub(1);
            }
            Ok(Event::Text(text)) => state.text(&text),
            Ok(Event::CData(text)) => state.text(&text),
            Ok(Event::GeneralRef(reference)) => {
                let whole = format!("&{};", &*reference);
                let character =
                    unescape(&whole).map_or_else(|_| whole.clone(), std::borrow::Cow::into_owned);
                state.text(&character);
            }
            Ok(Event::DocType(_)) => return None,
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_)) => continue,
            // What was read before it broke off was read.
            Ok(Event::Eof) | Err(_) => break,
        }
        if any && state.depth == 0 {
            break;
        }
    }
    state.finish_case();
    let length = usize::try_from(xml.buffer_position()).unwrap_or(text.len());
    any.then_some((state.report, length))
}

fn known(element: &str) -> bool {
    ["testsuites", "testsuite", "testcase"].contains(&element)
}

/// Which text is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Failure,
    Skipped,
    Output,
    Other,
}

struct State<'a> {
    workspace: &'a Workspace,
    report: Report,
    /// Names of the suites around, and whether they are of a linter.
    suites: Vec<Suite>,
    depth: usize,
    case: Option<Case>,
    inside: Inside,
    /// How deep the try is that is told about, if it is not the last one: it has text and output of its own, which are not those of the test.
    retry: Option<usize>,
}

#[derive(Default)]
struct Suite {
    name: String,
    package: String,
    file: String,
}

#[derive(Default)]
struct Case {
    name: String,
    class: String,
    file: String,
    line: Option<u32>,
    column: Option<u32>,
    took: Option<Duration>,
    outcome: Option<Outcome>,
    /// Whether tries failed before one passed.
    flaky: bool,
    message: String,
    type_name: String,
    text: Text,
    output: Text,
    reason: String,
}

/// Text in pieces, up to what details may have.
#[derive(Default)]
struct Text(String);

impl Text {
    fn push(&mut self, text: &str) {
        let room = (crate::text::DETAILS_BYTES * 2).saturating_sub(self.0.len());
        self.0.push_str(output::start(text, room));
    }
}

impl State<'_> {
    fn start(&mut self, element: &BytesStart<'_>) {
        let attribute = |name: &str| {
            let mut attributes = element.attributes();
            // Looking for attributes twice would take quadratic time.
            let found = attributes
                .with_checks(false)
                .take(MOST_ATTRIBUTES)
                .filter_map(Result::ok)
                .find(|attribute| attribute.key.0 == name);
            found.map_or_else(String::new, |attribute| {
                let value = output::start(&attribute.value, crate::text::DETAILS_BYTES);
                unescape(value).map_or_else(|_| value.to_owned(), std::borrow::Cow::into_owned)
            })
        };
        match element.local_name().into_inner() {
            "testsuite" => {
                self.suites.push(Suite {
                    name: attribute("name"),
                    package: attribute("package"),
                    file: attribute("file"),
                });
            }
            "testcase" => {
                self.finish_case();
                self.case = Some(Case {
                    name: attribute("name"),
                    class: attribute("classname"),
                    file: attribute("file"),
                    line: attribute("line").parse().ok(),
                    column: attribute("column").parse().ok(),
                    took: attribute("time")
                        .parse()
                        .ok()
                        .and_then(|time: f64| Duration::try_from_secs_f64(time).ok()),
                    outcome: ["notrun", "disabled", "skipped"]
                        .contains(&attribute("status").as_str())
                        .then_some(Outcome::Skipped),
                    ..Case::default()
                });
            }
            "failure" | "error" => {
                self.inside = Inside::Failure;
                if let Some(case) = &mut self.case {
                    case.outcome = Some(Outcome::Failed);
                    if case.message.is_empty() {
                        case.message = attribute("message");
                        case.type_name = attribute("type");
                    }
                }
            }
            "skipped" => {
                self.inside = Inside::Skipped;
                if let Some(case) = &mut self.case {
                    case.outcome = case.outcome.max(Some(Outcome::Skipped));
                    case.reason = attribute("message");
                }
            }
            "flakyFailure" | "flakyError" => {
                self.retry.get_or_insert(self.depth);
                if let Some(case) = &mut self.case {
                    case.flaky = true;
                }
            }
            "rerunFailure" | "rerunError" => {
                self.retry.get_or_insert(self.depth);
            }
            "system-out" | "system-err" => self.inside = Inside::Output,
            _ => self.inside = Inside::Other,
        }
    }

    fn text(&mut self, text: &str) {
        let Some(case) = self.case.as_mut().filter(|_| self.retry.is_none()) else { return };
        match self.inside {
            Inside::Failure => case.text.push(text),
            Inside::Skipped if case.reason.is_empty() => {
                case.reason.push_str(output::start(text, crate::text::LABEL_BYTES));
            }
            Inside::Output => case.output.push(text),
            Inside::Skipped | Inside::Other => {}
        }
    }

    fn end(&mut self, element: &str) {
        match element {
            "testsuite" => drop(self.suites.pop()),
            "testcase" => self.finish_case(),
            _ => {}
        }
        self.inside = Inside::Other;
        self.retry = self.retry.filter(|depth| *depth < self.depth);
    }

    fn finish_case(&mut self) {
        let Some(case) = self.case.take() else { return };
        let suite = self.suites.last();
        if suite.is_some_and(|suite| {
            suite.package.starts_with("org.ruff") || suite.package.starts_with("org.eslint")
        }) {
            return self.linted(&case);
        }
        self.report.heard(Tool::JUnit);
        if case.outcome == Some(Outcome::Failed) && case.message == "collection failure" {
            return self.uncollected(&case);
        }
        let name = of_python(&case)
            .unwrap_or_else(|| TestName::new(&self.suite_name(&case), case.name.trim()));
        let outcome = match case.outcome {
            Some(Outcome::Passed) | None if case.flaky => Outcome::Flaky,
            outcome => outcome.unwrap_or(Outcome::Passed),
        };
        let file = if case.file.is_empty() {
            suite.map_or("", |suite| suite.file.as_str())
        } else {
            &case.file
        };
        let place = self.workspace.place(file, case.line, case.column);
        let test = TestCase::new(name, outcome).at(place).took(case.took);
        if !outcome.is_failure() {
            let reason = if case.reason == "true" { "" } else { case.reason.as_str() };
            return self.report.ran(test.message(reason));
        }
        let (test, finding) = explained(&case, test, self.workspace);
        self.report.ran(test);
        self.report.find(finding);
    }

    /// A file of Python that could not be loaded: it is written as a test, and none of its tests ran.
    fn uncollected(&mut self, case: &Case) {
        let trace = Trace::new(&coloured(&case.text.0), self.workspace);
        let named = case.name.replace('.', "/") + ".py";
        let place = match trace.place.clone() {
            inside @ Location::Inside { .. } => inside,
            Location::Unsaid | Location::Outside(_) => self.workspace.place(&named, None, None),
        };
        self.report.find(Finding { tool: Tool::JUnit, ..trace.finding(Kind::Error).at(place) });
    }

    /// A linter that writes its findings as tests that failed.
    fn linted(&mut self, case: &Case) {
        let suite = self.suites.last();
        let tool = if suite.is_some_and(|suite| suite.package.starts_with("org.ruff")) {
            Tool::Ruff
        } else {
            Tool::Eslint
        };
        self.report.heard(tool.clone());
        if case.outcome != Some(Outcome::Failed) {
            return;
        }
        let rule = case
            .name
            .strip_prefix("org.ruff.")
            .or_else(|| case.name.strip_prefix("org.eslint."))
            .unwrap_or(&case.name);
        let place = self.workspace.place(
            suite.map_or("", |suite| suite.name.as_str()),
            case.line,
            case.column,
        );
        self.report.find(Finding::new(Kind::Error, tool, &case.message).rule(rule).at(place));
    }

    /// The class, or the suites around where the class says nothing. An absolute path would be another one on another machine.
    fn suite_name(&self, case: &Case) -> String {
        let class = case.class.trim();
        let said = if class.is_empty() || class == "test" {
            let names =
                self.suites.iter().map(|suite| suite.name.trim()).filter(|name| !name.is_empty());
            let mut said = Gathered::default();
            names.for_each(|name| said.line(name));
            said.as_str().replace('\n', " › ")
        } else {
            class.to_owned()
        };
        if said.starts_with('/') {
            self.workspace.file(&said).map_or(said, |file| file.to_string())
        } else {
            said
        }
    }
}

/// What pytest calls a test, where it says the file: so it has one name, whoever tells of it.
fn of_python(case: &Case) -> Option<TestName> {
    let module = case.file.strip_suffix(".py")?.replace('/', ".");
    let class = match case.class.strip_prefix(&module)? {
        "" => String::new(),
        below => format!("{}::", below.strip_prefix('.')?.replace('.', "::")),
    };
    Some(TestName::new(&case.file, &format!("{class}{}", case.name.trim())))
}

/// pytest writes what XML cannot hold as `#x1B`.
fn coloured(text: &str) -> String {
    text.replace("#x1B[", "\u{1b}[")
}

/// Why a test failed: whoever wrote the report has put the runner's own words in it.
fn explained(case: &Case, test: TestCase, workspace: &Workspace) -> (TestCase, Finding) {
    let printed = if case.text.0.trim().is_empty() { &case.output.0 } else { &case.text.0 };
    let said = if printed.trim().is_empty() { &case.message } else { printed };
    let said = &*output::plain(&coloured(said)).into_owned();
    let panicked = said.contains("panicked at ") || said.contains("did not panic as expected");
    let is_pytest = said.lines().any(|line| line.starts_with("E  "));
    let (mut test, mut finding) = if panicked {
        panic::failed(&Tool::JUnit, test, said, workspace)
    } else if is_pytest {
        let trace = Trace::new(said, workspace);
        let place =
            if trace.place == Location::Unsaid { test.place.clone() } else { trace.place.clone() };
        let outcome = if trace.timed_out() { Outcome::TimedOut } else { test.outcome };
        let finding = trace.finding(Kind::Failure).at(place.clone()).of_test(test.name.clone());
        (TestCase { outcome, ..test }.at(place), Finding { tool: Tool::JUnit, ..finding })
    } else {
        Thrown::new(said, workspace).failed(&Tool::JUnit, test)
    };
    // A panic's first line is where it was, and pytest's is in the trace; the parsers have that.
    let said_better = case.message.contains("panicked at ")
        || case.message.contains("did not panic as expected")
        || is_pytest && !finding.message.is_empty();
    if !case.message.is_empty() && !said_better {
        finding.message = case.message.as_str().into();
    } else if case.message.is_empty() && case.text.0.trim().is_empty() && !panicked {
        finding.message = case.type_name.as_str().into();
    }
    if finding.message.is_empty() {
        finding.message = "the test failed and said nothing".into();
    }
    if case.type_name.contains("imeout") || case.message.contains("timed out") {
        test.outcome = Outcome::TimedOut;
    }
    if let Some((expected, actual)) = but_was(&finding.message) {
        finding = finding.clone().expected(expected).actual(actual);
    }
    let message = finding.message.to_string();
    (test.message(&message), finding)
}

/// The two sides of `expected: <4> but was: <0>`, which is how Java says it.
fn but_was(message: &str) -> Option<(&str, &str)> {
    let (before, actual) = message.split_once(" but was:")?;
    let (_, expected) = before.split_once("expected:")?;
    Some((bare(expected), bare(actual)))
}

fn bare(side: &str) -> &str {
    let side = side.trim();
    side.strip_prefix('<').and_then(|side| side.strip_suffix('>')).unwrap_or(side)
}
