//! What pytest prints.
//!
//! ```text
//! test_calc.py::TestAdd::test_two FAILED      with -v
//! ================ FAILURES ================
//! ____________ TestAdd.test_two ____________
//! >       assert add(2, 2) == 4
//! E       assert 0 == 4
//! test_calc.py:11: AssertionError
//! ======= short test summary info ==========
//! FAILED test_calc.py::TestAdd::test_two - assert 0 == 4
//! 1 failed, 2 passed in 0.15s
//! ```
//!
//! A block is headed by the name of a test without its file; the summary names both. They are joined at the end.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    finding::{Finding, Kind, Tool},
    located::{self, Located},
    location::{Location, Workspace},
    naming::Reach,
    output::{Gathered, lines, plain},
    report::{MOST_FINDINGS, MOST_TESTS, Report, Tally},
    test::{Outcome, TestCase, TestName},
    text::MESSAGE_BYTES,
};

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("= test session starts =")
        || text.contains("= short test summary info =")
        || lines(text).any(|line| tally(line).is_some())
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut reader = Reader { workspace, ..Reader::new(workspace) };
    for line in lines(text) {
        reader.line(line);
    }
    reader.finish()
}

/// What the test is known by: its file, and what stands behind it.
pub(crate) fn name(node: &str) -> TestName {
    let (file, test) = node.split_once("::").unwrap_or((node, ""));
    TestName::new(file, test)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Progress,
    Failures,
    Errors,
    Warnings,
    Summary,
}

struct Reader<'a> {
    workspace: &'a Workspace,
    report: Report,
    section: Section,
    /// Blocks by their headline. Two tests in two files may have the same: the summary has them in the same order.
    blocks: BTreeMap<String, VecDeque<(Section, Gathered)>>,
    count: usize,
    open: Option<(String, Gathered)>,
    /// Failures that were told in one line each: where, and what.
    told: VecDeque<(Location, String)>,
    /// Failures and errors of the summary: what, and the words after the dash.
    summary: Vec<(Section, String, String)>,
}

impl<'a> Reader<'a> {
    fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            report: Report::new(),
            section: Section::Progress,
            blocks: BTreeMap::new(),
            count: 0,
            open: None,
            told: VecDeque::new(),
            summary: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(tally) = tally(line) {
            self.close_block();
            self.section = Section::Progress;
            self.report.heard(Tool::Pytest);
            self.report.reached(Reach::Whole);
            return self.report.said(tally);
        }
        if framed(line, '!').is_some() {
            self.close_block();
            // `stopping after 1 failures`, `Interrupted: 2 errors during collection`, `KeyboardInterrupt`
            self.report.reached(Reach::Cut);
            self.section = Section::Progress;
            return;
        }
        if let Some(title) = framed(line, '=') {
            self.close_block();
            self.section = match title {
                "FAILURES" => Section::Failures,
                "ERRORS" => Section::Errors,
                "warnings summary" => Section::Warnings,
                "short test summary info" => Section::Summary,
                _ => Section::Progress,
            };
            return;
        }
        match self.section {
            Section::Progress => self.progress(line),
            Section::Failures | Section::Errors => self.block(line),
            Section::Warnings => self.warning(line),
            Section::Summary => self.summary(line),
        }
    }

    /// `test_calc.py::TestAdd::test_two FAILED [  6%]`
    fn progress(&mut self, line: &str) {
        // With xdist the words stand the other way round, behind the worker's name.
        let worker = line.strip_prefix("[gw").and_then(|line| line.split_once("%] "));
        let found = if let Some((_, said)) = worker {
            said.split_once(' ').map(|(word, node)| (node.trim(), word, ""))
        } else {
            let words = WORDS.iter().filter_map(|(word, _)| {
                line.split_once(&format!(" {word}")).map(|(node, rest)| (node, *word, rest))
            });
            words.min_by_key(|(node, _, _)| node.len())
        };
        let Some((node, word, rest)) = found else { return };
        let Some((_, outcome)) = WORDS.iter().find(|(known, _)| *known == word) else { return };
        if !node.contains("::")
            || located::extension(node.split("::").next().unwrap_or_default()).is_none()
        {
            return;
        }
        let reason = rest
            .trim_start()
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or("", |(reason, _)| reason);
        let file = node.split_once("::").map_or(node, |(file, _)| file);
        let place = self.workspace.place(file, None, None);
        self.report.ran(TestCase::new(name(node), *outcome).at(place).message(reason));
    }

    fn block(&mut self, line: &str) {
        if let Some(headline) = framed(line, '_').filter(|headline| !headline.starts_with("_ ")) {
            self.close_block();
            self.open = Some((headline.to_owned(), Gathered::default()));
        } else if let Some((_, printed)) = &mut self.open {
            printed.line(line);
        } else if let Some(located) = Located::new(line).filter(|_| self.told.len() < MOST_FINDINGS)
        {
            self.told.push_back((located.place(self.workspace), located.rest.to_owned()));
        }
    }

    fn close_block(&mut self) {
        let Some((headline, printed)) = self.open.take() else { return };
        if self.count < MOST_FINDINGS {
            self.count += 1;
            let key = headline_key(&headline).to_owned();
            self.blocks.entry(key).or_default().push_back((self.section, printed));
        }
    }

    /// `  /src/test_calc.py:44: UserWarning: careful`
    fn warning(&mut self, line: &str) {
        let Some(located) = line.strip_prefix("  ").and_then(Located::new) else { return };
        let Some((rule, message)) =
            located.rest.split_once(": ").filter(|(rule, _)| rule.ends_with("Warning"))
        else {
            return;
        };
        self.report.find(
            Finding::new(Kind::Warning, Tool::Pytest, message)
                .rule(rule)
                .at(located.place(self.workspace)),
        );
    }

    /// `FAILED test_calc.py::TestAdd::test_two - assert 0 == 4`
    fn summary(&mut self, line: &str) {
        let Some((word, rest)) = line.split_once(' ') else { return };
        let section = match word {
            "FAILED" => Section::Failures,
            "ERROR" => Section::Errors,
            // With `-rA`.
            "PASSED" => return self.progress(&format!("{rest} {word}")),
            _ => return,
        };
        let (node, message) = split_message(rest);
        if self.summary.len() < MOST_TESTS {
            self.summary.push((section, node.to_owned(), message.to_owned()));
        }
    }

    fn finish(mut self) -> Report {
        self.close_block();
        for (section, node, message) in std::mem::take(&mut self.summary) {
            let key = node
                .split_once("::")
                .map_or_else(|| node.clone(), |(_, test)| test.replace("::", "."));
            let printed = self.blocks.get_mut(&key).and_then(|blocks| {
                let at = blocks.iter().position(|(of, _)| *of == section)?;
                blocks.remove(at)
            });
            let printed = printed.map(|(_, printed)| printed).unwrap_or_default();
            self.failed(&node, &message, printed.as_str());
        }
        // Without a summary the blocks have to name themselves.
        for (headline, blocks) in std::mem::take(&mut self.blocks) {
            for (section, printed) in blocks {
                // A process of xdist that died is told of under the name of a file, and once more under that of the test.
                if printed.as_str().contains("' crashed while running '") {
                    self.report.reached(Reach::Cut);
                    continue;
                }
                let trace = Trace::new(printed.as_str(), self.workspace);
                let kind = if section == Section::Errors { Kind::Error } else { Kind::Failure };
                let mut finding = trace.finding(kind);
                if section == Section::Failures {
                    let suite = trace.first.file().map_or("", |file| file.as_str());
                    let name = TestName::new(suite, &headline.replace('.', "::"));
                    finding = finding.of_test(name.clone());
                    let outcome =
                        if trace.timed_out() { Outcome::TimedOut } else { Outcome::Failed };
                    self.report.ran(
                        TestCase::new(name, outcome)
                            .at(finding.place.clone())
                            .message(&finding.message),
                    );
                }
                self.report.find(finding);
            }
        }
        self.report
    }

    fn failed(&mut self, node: &str, message: &str, printed: &str) {
        let mut trace = Trace::new(printed, self.workspace);
        if trace.message.is_empty() {
            message.clone_into(&mut trace.message);
        }
        let stem = message.trim_end_matches("...");
        // They are in the same order, but not all are told; so only the next few may be it.
        if let Some(at) = self
            .told
            .iter()
            .take(8)
            .position(|(_, said)| printed.is_empty() && said.starts_with(stem))
        {
            let (place, said) = self.told.drain(..=at).next_back().unwrap_or_default();
            trace.place = place;
            trace.message = said;
        }
        let file = node.split_once("::").map_or(node, |(file, _)| file);
        if trace.place.file().is_none() {
            trace.place = self.workspace.place(file, None, None);
        }
        if !node.contains("::") {
            // A file that could not be collected: none of its tests ran.
            return self.report.find(trace.finding(Kind::Error));
        }
        let finding = trace.finding(Kind::Failure).of_test(name(node));
        let outcome = if trace.timed_out() { Outcome::TimedOut } else { Outcome::Failed };
        let test = TestCase::new(name(node), outcome).at(trace.place).message(&finding.message);
        self.report.ran(test.clone());
        self.report.explain(test);
        self.report.find(finding);
    }
}

const WORDS: &[(&str, Outcome)] = &[
    ("PASSED", Outcome::Passed),
    ("XPASS", Outcome::Passed),
    ("FAILED", Outcome::Failed),
    ("ERROR", Outcome::Failed),
    ("SKIPPED", Outcome::Skipped),
    ("XFAIL", Outcome::Skipped),
];

/// What was printed of a failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// All that is marked with `E`.
    message: String,
    /// The last place in the workspace: nearest to what went wrong.
    pub(crate) place: Location,
    /// The first place in the workspace: the test.
    first: Location,
    details: Gathered,
}

impl Trace {
    pub(crate) fn new(printed: &str, workspace: &Workspace) -> Self {
        let mut trace = Self::default();
        // The code of a test stands before the line that failed, all of it: only its end is worth reading.
        let mut code: VecDeque<&str> = VecDeque::new();
        let printed = plain(printed);
        for line in lines(&printed) {
            if is_code(line) {
                code.push_back(line);
                if code.len() > CODE_LINES {
                    code.pop_front();
                }
                continue;
            }
            code.drain(..).for_each(|line| trace.details.line(line));
            trace.details.line(line);
            if let Some(error) = line.strip_prefix("E  ").or_else(|| (line == "E").then_some("")) {
                let error = error.trim_end().strip_prefix(' ').unwrap_or(error);
                if let Some(place) = quoted_place(error, workspace) {
                    trace.place = place;
                }
                if trace.message.len() < MESSAGE_BYTES {
                    trace.message.push_str(error.strip_prefix("    ").unwrap_or(error));
                    trace.message.push('\n');
                }
            } else if let Some(located) = Located::new(line) {
                let place = located.place(workspace);
                let ours =
                    place.file().is_some_and(|file| !file.as_str().contains("site-packages/"));
                if ours && trace.first == Location::Unsaid {
                    trace.first = place.clone();
                }
                if ours {
                    trace.place = place;
                }
            } else if line.starts_with("[XPASS(strict)]") {
                trace.message.push_str("the test passed, although it is marked as one that fails");
            }
        }
        code.drain(..).for_each(|line| trace.details.line(line));
        trace
    }

    pub(crate) fn timed_out(&self) -> bool {
        self.message.contains("Timeout") && self.message.contains("from pytest-timeout")
    }

    pub(crate) fn finding(&self, kind: Kind) -> Finding {
        let message = match self.message.trim() {
            "" => "it failed and said nothing".to_owned(),
            // What cannot be parsed is shown before it is said why.
            message if message.starts_with("File \"") => {
                format!("{}\n{message}", message.lines().last().unwrap_or_default())
            }
            message => message.to_owned(),
        };
        let message = message.as_str();
        let (expected, actual) = sides(message);
        Finding::new(kind, Tool::Pytest, message)
            .at(self.place.clone())
            .expected(expected)
            .actual(actual)
            .details(self.details.as_str())
    }
}

/// Lines of code that are kept before one that failed.
const CODE_LINES: usize = 6;

/// Whether a line is of the code that pytest shows: not the one that failed, nor what was raised, nor where.
fn is_code(line: &str) -> bool {
    line.is_empty() || line.starts_with("    ") || line.starts_with('@') || line.starts_with("def ")
}

/// What was expected and what was there, in `assert 0 == 4` and `AssertionError: 0 != 2 : sums`.
pub(super) fn sides(message: &str) -> (&str, &str) {
    let line = message.lines().next().unwrap_or_default().trim();
    let line = line.strip_prefix("AssertionError: ").unwrap_or(line);
    if line.ends_with("...") {
        return ("", "");
    }
    let (line, sign) = line.strip_prefix("assert ").map_or((line, " != "), |line| (line, " == "));
    let mut parts = line.split(sign);
    let (Some(actual), Some(expected), None) = (parts.next(), parts.next(), parts.next()) else {
        return ("", "");
    };
    let expected = expected
        .split_once(" : ")
        .filter(|_| sign == " != ")
        .map_or(expected, |(expected, _)| expected);
    (expected, actual)
}

/// The place in `File "/src/test_syntax.py", line 1`.
pub(super) fn quoted_place(line: &str, workspace: &Workspace) -> Option<Location> {
    let (path, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let (line, _) = located::leading_number(rest)?;
    let place = workspace.place(path, Some(line), None);
    place.file().is_some().then_some(place)
}

/// The words in `===== words =====`.
fn framed(line: &str, frame: char) -> Option<&str> {
    let bare = line.strip_prefix(frame)?.strip_suffix(frame)?;
    let bare = bare.trim_matches(frame).strip_prefix(' ')?.strip_suffix(' ')?;
    (!bare.trim().is_empty()).then_some(bare)
}

/// What a block is about: `ERROR at setup of test_err` is about `test_err`.
fn headline_key(headline: &str) -> &str {
    ["ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "]
        .iter()
        .find_map(|prefix| headline.strip_prefix(prefix))
        .unwrap_or(headline)
}

/// The test and the words after ` - `, which can also stand in the brackets of a parameter.
fn split_message(rest: &str) -> (&str, &str) {
    let closed =
        rest.find('[').and_then(|open| rest.get(open..)?.find("] - ").map(|at| open + at + 1));
    let before_brackets =
        rest.find(" - ").filter(|dash| rest.find('[').is_none_or(|open| *dash < open));
    match before_brackets.or(closed).and_then(|at| rest.split_at_checked(at)) {
        Some((node, message)) => (node.trim(), message.trim_start_matches(" - ")),
        None => (rest.trim(), ""),
    }
}

/// The numbers in `= 9 failed, 4 passed, 1 skipped, 2 errors in 0.34s =`.
fn tally(line: &str) -> Option<Tally> {
    let (counts, took) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    let timed = took
        .split(' ')
        .next()
        .and_then(|took| took.strip_suffix('s'))
        .is_some_and(|took| took.parse::<f64>().is_ok());
    if !timed {
        return None;
    }
    let mut tally = Tally::default();
    if counts == "no tests ran" {
        return Some(tally);
    }
    for part in counts.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        let slot = match word {
            "passed" | "xpassed" => &mut tally.passed,
            "failed" | "error" | "errors" => &mut tally.failed,
            "skipped" | "xfailed" => &mut tally.skipped,
            "warning" | "warnings" | "deselected" | "rerun" | "reruns" => continue,
            _ if word.starts_with("subtests ") => continue,
            _ => return None,
        };
        *slot = slot.saturating_add(number);
    }
    Some(tally)
}
