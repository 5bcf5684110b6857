//! All that a run of a check found, within limits.
//!
//! Findings and tests beyond the limits are counted and left off; the counts include them. Warnings and notes have room of their own, so that
//! they leave no error out. A test has one entry: of two words about one test the worse counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use crate::{
    finding::{Finding, Kind, Tool},
    naming::{self, Names, Reach},
    test::{Outcome, TestCase, TestName},
};

pub use crate::tally::Tally;

/// Findings kept in one report: half of them for errors and failures, half for warnings and notes.
pub const MOST_FINDINGS: usize = 2_000;
/// Tests kept in one report.
pub const MOST_TESTS: usize = 50_000;
/// Tools that are remembered: a report in SARIF may name as many as it likes.
const MOST_TOOLS: usize = 64;
/// Text kept in one report: so much of findings, and so much of tests.
pub const MOST_BYTES: usize = 8 << 20;

/// How many there were of each, also of those that were left off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    pub errors: u64,
    pub warnings: u64,
    pub tests: Tally,
}

/// What is not in a report although it was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LeftOff {
    pub findings: u64,
    pub tests: u64,
    /// Bytes of output that nobody looked at.
    pub bytes: u64,
}

impl LeftOff {
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// How many there are of something, and how much text they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Room {
    count: usize,
    bytes: usize,
}

const GRAVE: Room = Room { count: MOST_FINDINGS / 2, bytes: MOST_BYTES / 2 };
const MINOR: Room = Room { count: MOST_FINDINGS / 2, bytes: MOST_BYTES / 2 };
const TESTS: Room = Room { count: MOST_TESTS, bytes: MOST_BYTES };

impl Room {
    /// Takes one more with so much text, if there is room.
    fn take(&mut self, bytes: usize, most: Self) -> bool {
        let fits = self.count < most.count && self.bytes + bytes <= most.bytes;
        if fits {
            self.count += 1;
            self.bytes += bytes;
        }
        fits
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    tools: BTreeSet<Tool>,
    findings: Vec<Finding>,
    /// Hashes of the findings: a second copy of each would be too much, and whoever makes two alike hides only their own words.
    seen: BTreeSet<u64>,
    /// How much of it is errors and failures.
    grave: Room,
    /// How much of it is warnings and notes.
    minor: Room,
    /// Tests that a finding is about.
    explained: BTreeSet<TestName>,
    tests: Vec<TestCase>,
    room: Room,
    names: BTreeMap<TestName, usize>,
    errors: u64,
    warnings: u64,
    /// What tools said about the number of their tests; some do not name all.
    said: Tally,
    beyond: Tally,
    /// Whether tests ran that were neither named nor counted.
    is_silent: bool,
    reach: Reach,
    left_off: LeftOff,
}

impl Report {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whose words were understood.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// Findings, in the order in which they were printed.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Tests, in the order in which they were printed; each name once.
    pub fn tests(&self) -> &[TestCase] {
        &self.tests
    }

    pub fn test(&self, name: &TestName) -> Option<&TestCase> {
        self.names.get(name).and_then(|at| self.tests.get(*at))
    }

    pub fn counts(&self) -> Counts {
        let tests = self.named().or_more(self.said);
        Counts { errors: self.errors, warnings: self.warnings, tests }
    }

    /// Those that have an entry, and those that had one before there was no more room.
    fn named(&self) -> Tally {
        let mut tests = self.beyond;
        for test in &self.tests {
            *slot(&mut tests, test.outcome) += 1;
        }
        tests
    }

    /// Which of the tests that were run are named here.
    pub fn names(&self) -> Names {
        if self.left_off.tests > 0 || self.left_off.bytes > 0 {
            return Names::Some;
        }
        let names = naming::names(self.named(), self.said);
        if self.is_silent { names.max(Names::Failures) } else { names }
    }

    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Whether tests ran that were neither named nor counted.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Tests passed that were neither named nor counted.
    pub(crate) fn silent(&mut self) {
        self.is_silent = true;
    }

    /// A runner told how far it got. Of two words the worse counts.
    pub(crate) fn reached(&mut self, reach: Reach) {
        self.reach = self.reach.max(reach);
    }

    /// Takes out what is told of tests, for which there is a better source. What compilers and linters found stays.
    pub(crate) fn forget_tests(&mut self) {
        let is_of_a_test = |finding: &Finding| {
            let is_grave = matches!(finding.kind, Kind::Error | Kind::Failure);
            finding.test.is_some() || is_grave && finding.tool.runs_tests()
        };
        self.findings.retain(|finding| !is_of_a_test(finding));
        self.errors = count(&self.findings, Kind::Error);
        self.warnings = count(&self.findings, Kind::Warning);
        self.tools.retain(|tool| !tool.runs_tests());
        self.tests.clear();
        self.names.clear();
        self.explained.clear();
        (self.room, self.said, self.beyond) = <(Room, Tally, Tally)>::default();
        // What nobody looked at was text as well.
        (self.left_off.tests, self.left_off.bytes, self.is_silent) = (0, 0, false);
    }

    pub fn left_off(&self) -> LeftOff {
        self.left_off
    }

    /// Whether nothing was understood.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.tests.is_empty() && self.said == Tally::default()
    }

    /// These are words of this tool, also if it found nothing.
    pub fn heard(&mut self, tool: Tool) {
        if self.tools.len() < MOST_TOOLS {
            self.tools.insert(tool);
        }
    }

    /// Adds a finding. The same one twice is one: tools repeat themselves for each target that they build.
    pub fn find(&mut self, finding: Finding) {
        let hash = hash(&finding);
        if self.seen.contains(&hash) {
            return;
        }
        match finding.kind {
            Kind::Error => self.errors += 1,
            Kind::Warning => self.warnings += 1,
            // Failures are counted as tests.
            Kind::Failure | Kind::Note => {}
        }
        self.heard(finding.tool.clone());
        let (room, most) = match finding.kind {
            Kind::Error | Kind::Failure => (&mut self.grave, GRAVE),
            Kind::Warning | Kind::Note => (&mut self.minor, MINOR),
        };
        if !room.take(finding.bytes(), most) {
            self.left_off.findings += 1;
            return;
        }
        self.seen.insert(hash);
        self.explained.extend(finding.test.clone());
        self.findings.push(finding);
    }

    /// Adds a test, or what was said about one once more.
    pub fn ran(&mut self, test: TestCase) {
        if let Some(known) = self.names.get(&test.name).and_then(|at| self.tests.get_mut(*at)) {
            if test.outcome > known.outcome {
                // The limit may be passed by no more than what is said again about tests that are known.
                self.room.bytes = (self.room.bytes + test.bytes()).saturating_sub(known.bytes());
                *known = test;
            }
            return;
        }
        if !self.room.take(test.bytes(), TESTS) {
            self.left_off.tests += 1;
            *slot(&mut self.beyond, test.outcome) += 1;
            return;
        }
        self.names.insert(test.name.clone(), self.tests.len());
        self.tests.push(test);
    }

    /// Says more about a test that is known, without another word on how it ended; or adds it.
    pub(crate) fn explain(&mut self, test: TestCase) {
        let Some(known) = self.names.get(&test.name).and_then(|at| self.tests.get_mut(*at)) else {
            return self.ran(test);
        };
        if known.message.is_none() && test.outcome >= known.outcome {
            self.room.bytes = (self.room.bytes + test.bytes()).saturating_sub(known.bytes());
            *known = test;
        }
    }

    /// These failed, were tried again by their tool, and passed: why they failed is no finding.
    pub(crate) fn passed_after_all(&mut self, tests: &BTreeMap<TestName, TestCase>) {
        self.findings
            .retain(|finding| finding.test.as_ref().is_none_or(|test| !tests.contains_key(test)));
        for test in tests.values() {
            match self.names.get(&test.name).and_then(|at| self.tests.get_mut(*at)) {
                Some(known) => *known = test.clone(),
                None => self.ran(test.clone()),
            }
        }
    }

    /// Whether a finding says why this test failed.
    pub(crate) fn explains(&self, test: &TestName) -> bool {
        self.explained.contains(test)
    }

    /// Adds a finding, unless its test has one: a tool that tries again says the same again, with other times in it.
    pub(crate) fn find_once(&mut self, finding: Finding) {
        if finding.test.as_ref().is_none_or(|test| !self.explained.contains(test)) {
            self.find(finding);
        }
    }

    /// This test failed because a test within it did, which has its own finding.
    pub(crate) fn explained_within(&mut self, test: &TestName) {
        if self.explained.len() < MOST_TESTS {
            self.explained.insert(test.clone());
        }
    }

    /// Tests that failed, and about which there is no finding.
    pub(crate) fn unexplained(&self) -> impl Iterator<Item = &TestCase> {
        let silent =
            |test: &&TestCase| test.outcome.is_failure() && !self.explained.contains(&test.name);
        self.tests.iter().filter(silent).take(MOST_FINDINGS)
    }

    /// Every test that failed has a finding, also if nobody said why.
    pub(crate) fn explain_failures(&mut self) {
        let tool = if self.tools.len() == 1 { self.tools.first().cloned() } else { None };
        let tool = tool.unwrap_or(Tool::Unknown);
        let findings: Vec<Finding> =
            self.unexplained().map(|test| unexplained(test, &tool)).collect();
        for finding in findings {
            self.find(finding);
        }
    }

    /// A tool said that it ran so many tests. What several runs said is added up.
    pub fn said(&mut self, tally: Tally) {
        self.said = self.said.plus(tally);
    }

    /// So many bytes of output were not looked at.
    pub fn overlooked(&mut self, bytes: u64) {
        self.left_off.bytes = self.left_off.bytes.saturating_add(bytes);
    }

    /// Adds all of another report.
    pub fn join(&mut self, other: Self) {
        for tool in other.tools {
            self.heard(tool);
        }
        // Those that are kept are counted as they come; the rest was only counted.
        let kept = |kind| other.findings.iter().filter(|finding| finding.kind == kind).count();
        let beyond =
            |count: u64, kept: usize| count.saturating_sub(u64::try_from(kept).unwrap_or(0));
        self.errors = self.errors.saturating_add(beyond(other.errors, kept(Kind::Error)));
        self.warnings = self.warnings.saturating_add(beyond(other.warnings, kept(Kind::Warning)));
        for finding in other.findings {
            self.find(finding);
        }
        for test in &other.explained {
            self.explained_within(test);
        }
        for test in other.tests {
            self.ran(test);
        }
        self.said(other.said);
        self.is_silent |= other.is_silent;
        self.reached(other.reach);
        self.beyond = self.beyond.plus(other.beyond);
        self.left_off.findings = self.left_off.findings.saturating_add(other.left_off.findings);
        self.left_off.tests = self.left_off.tests.saturating_add(other.left_off.tests);
        self.overlooked(other.left_off.bytes);
    }
}

fn count(findings: &[Finding], kind: Kind) -> u64 {
    let count = findings.iter().filter(|finding| finding.kind == kind).count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn unexplained(test: &TestCase, tool: &Tool) -> Finding {
    let message =
        test.message.as_deref().unwrap_or("the test failed, and its reason was not printed");
    Finding::new(Kind::Failure, tool.clone(), message)
        .at(test.place.clone())
        .of_test(test.name.clone())
}

fn hash(finding: &Finding) -> u64 {
    let mut hasher = DefaultHasher::new();
    finding.hash(&mut hasher);
    hasher.finish()
}

fn slot(tally: &mut Tally, outcome: Outcome) -> &mut u64 {
    match outcome {
        Outcome::Passed | Outcome::Flaky => &mut tally.passed,
        Outcome::Failed | Outcome::TimedOut => &mut tally.failed,
        Outcome::Skipped => &mut tally.skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, outcome: Outcome) -> TestCase {
        TestCase::new(TestName::new("suite", name), outcome)
    }

    #[test]
    fn of_two_words_about_one_test_the_worse_counts() {
        let mut report = Report::new();
        report.ran(test("a", Outcome::Passed));
        report.ran(test("a", Outcome::Failed));
        report.ran(test("a", Outcome::Passed));
        assert_eq!(report.tests().len(), 1);
        assert_eq!(report.counts().tests, Tally { passed: 0, failed: 1, skipped: 0 });
    }

    #[test]
    fn what_is_beyond_the_limits_is_counted() {
        let mut report = Report::new();
        for number in 0..MOST_FINDINGS / 2 + 2 {
            report.find(Finding::new(Kind::Warning, Tool::Unknown, &number.to_string()));
        }
        for number in 0..MOST_FINDINGS / 2 + 3 {
            report.find(Finding::new(Kind::Error, Tool::Unknown, &number.to_string()));
        }
        for number in 0..MOST_TESTS + 7 {
            report.ran(test(&number.to_string(), Outcome::Passed));
        }
        assert_eq!(report.findings().len(), MOST_FINDINGS);
        assert_eq!(report.tests().len(), MOST_TESTS);
        assert_eq!(report.left_off(), LeftOff { findings: 5, tests: 7, bytes: 0 });
        assert_eq!(report.counts().errors, MOST_FINDINGS as u64 / 2 + 3);
        assert_eq!(report.counts().warnings, MOST_FINDINGS as u64 / 2 + 2);
        assert_eq!(report.counts().tests.passed, MOST_TESTS as u64 + 7);
    }

    #[test]
    fn joined_reports_count_what_each_had_left_off() {
        let mut report = Report::new();
        for number in 0..MOST_FINDINGS / 2 + 3 {
            report.find(Finding::new(Kind::Error, Tool::Unknown, &number.to_string()));
        }
        let mut whole = Report::new();
        whole.join(report.clone());
        assert_eq!((whole.counts(), whole.left_off()), (report.counts(), report.left_off()));
    }

    #[test]
    fn a_tool_that_repeats_itself_is_heard_once() {
        let mut report = Report::new();
        report.find(Finding::new(Kind::Warning, Tool::Rustc, "unused"));
        report.find(Finding::new(Kind::Warning, Tool::Rustc, "unused"));
        assert_eq!((report.findings().len(), report.counts().warnings), (1, 1));
    }
}
