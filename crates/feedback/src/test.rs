//! One test, and how it ended.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{
    location::Location,
    text::{Label, Message},
};

/// What a test is known by, in this run and in the next: no times, numbers of processes or absolute paths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestName {
    /// The file, class, package or program that it is in; empty if the tool does not say.
    pub suite: Label,
    pub name: Label,
}

impl TestName {
    pub fn new(suite: &str, name: &str) -> Self {
        Self { suite: Label::new(suite), name: Label::new(name) }
    }

    /// The same name once more in one run: the second of two has a number.
    pub(crate) fn again(&self, times: u32) -> Self {
        // Room for the number: a name is cut at its end.
        let name = crate::output::start(&self.name, crate::text::LABEL_BYTES - 32);
        Self::new(&self.suite, &format!("{name} ({times})"))
    }

    /// Bytes of its text.
    pub(crate) fn bytes(&self) -> usize {
        self.suite.len() + self.name.len()
    }
}

impl fmt::Display for TestName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.suite.is_empty() {
            return formatter.write_str(&self.name);
        }
        write!(formatter, "{} › {}", self.suite, self.name)
    }
}

/// How often each name was there, where a runner lets two tests have one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(BTreeMap<TestName, u32>);

impl Times {
    /// More names are not told apart; a report does not keep more either.
    const MOST: usize = 100_000;

    /// The name, with its number where it was there before: of two tests with one name, each is compared with itself.
    pub(crate) fn numbered(&mut self, name: &TestName) -> TestName {
        if self.0.len() >= Self::MOST && !self.0.contains_key(name) {
            return name.clone();
        }
        let times = self.0.entry(name.clone()).or_default();
        *times = times.saturating_add(1);
        if *times == 1 { name.clone() } else { name.again(*times) }
    }
}

/// How a test ended, the best first: of two words about one test the later in this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It was not run, or not expected to pass.
    Skipped,
    Passed,
    /// It failed, was tried again by the tool itself, and passed.
    Flaky,
    Failed,
    TimedOut,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Passed => "passed",
            Self::Flaky => "flaky",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
        }
    }

    /// Whether the test did not do what it should.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Skipped | Self::Passed | Self::Flaky => false,
            Self::Failed | Self::TimedOut => true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    pub name: TestName,
    pub outcome: Outcome,
    /// Where the test is, or where it failed.
    pub place: Location,
    /// Why it failed or was skipped.
    pub message: Option<Message>,
    pub duration: Option<Duration>,
}

impl TestCase {
    pub fn new(name: TestName, outcome: Outcome) -> Self {
        Self { name, outcome, place: Location::Unsaid, message: None, duration: None }
    }

    #[must_use]
    pub fn at(mut self, place: Location) -> Self {
        self.place = place;
        self
    }

    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = Message::new(message).filled();
        self
    }

    #[must_use]
    pub fn took(mut self, duration: Option<Duration>) -> Self {
        self.duration = duration;
        self
    }

    /// Bytes of its text. Its name is kept twice, to be found by it.
    pub(crate) fn bytes(&self) -> usize {
        self.name.bytes() * 2
            + self.place.bytes()
            + self.message.as_ref().map_or(0, |message| message.len())
    }
}
