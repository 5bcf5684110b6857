//! One thing that a tool found.

use crate::{
    location::Location,
    test::TestName,
    text::{Details, Label, Message},
};

/// How bad it is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The code cannot be built, or breaks a rule that must hold.
    Error,
    /// A test did not do what it should.
    Failure,
    /// The code breaks a rule that should hold.
    Warning,
    /// Something worth knowing.
    Note,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Failure => "failure",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Whose words they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    Cargo,
    Rustc,
    Clippy,
    Libtest,
    Nextest,
    Pytest,
    Unittest,
    Ruff,
    Mypy,
    Jest,
    Vitest,
    NodeTest,
    Tap,
    Mocha,
    Eslint,
    Tsc,
    GoTest,
    GoVet,
    GoBuild,
    /// gcc, clang and those that speak like them.
    C,
    JUnit,
    /// A tool that says its own name, as in SARIF.
    Named(Label),
    /// Nobody whom we know.
    Unknown,
}

impl Tool {
    pub fn name(&self) -> &str {
        match self {
            Self::Cargo => "cargo",
            Self::Rustc => "rustc",
            Self::Clippy => "clippy",
            Self::Libtest => "cargo test",
            Self::Nextest => "nextest",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Ruff => "ruff",
            Self::Mypy => "mypy",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::NodeTest => "node --test",
            Self::Tap => "TAP",
            Self::Mocha => "mocha",
            Self::Eslint => "eslint",
            Self::Tsc => "tsc",
            Self::GoTest => "go test",
            Self::GoVet => "go vet",
            Self::GoBuild => "go build",
            Self::C => "C compiler",
            Self::JUnit => "JUnit",
            Self::Named(name) => name,
            Self::Unknown => "unknown tool",
        }
    }
}

impl Tool {
    /// Whether it is one that runs tests.
    pub fn runs_tests(&self) -> bool {
        match self {
            Self::Libtest
            | Self::Nextest
            | Self::Pytest
            | Self::Unittest
            | Self::Jest
            | Self::Vitest
            | Self::NodeTest
            | Self::Tap
            | Self::Mocha
            | Self::GoTest
            | Self::JUnit => true,
            Self::Cargo
            | Self::Rustc
            | Self::Clippy
            | Self::Ruff
            | Self::Mypy
            | Self::Eslint
            | Self::Tsc
            | Self::GoVet
            | Self::GoBuild
            | Self::C
            | Self::Named(_)
            | Self::Unknown => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    pub kind: Kind,
    pub tool: Tool,
    /// What the tool calls the rule that was broken, such as `E0308` or `no-unused-vars`.
    pub rule: Option<Label>,
    /// The test that failed, if it was one.
    pub test: Option<TestName>,
    pub place: Location,
    pub message: Message,
    /// What should have been there, where the tool says so apart from its message.
    pub expected: Option<Message>,
    /// What was there.
    pub actual: Option<Message>,
    /// What else was said: the lines around it, hints, where it was called from.
    pub details: Option<Details>,
}

impl Finding {
    /// A finding that says no more than this.
    pub fn new(kind: Kind, tool: Tool, message: &str) -> Self {
        Self {
            kind,
            tool,
            rule: None,
            test: None,
            place: Location::Unsaid,
            message: Message::new(message),
            expected: None,
            actual: None,
            details: None,
        }
    }

    #[must_use]
    pub fn at(mut self, place: Location) -> Self {
        self.place = place;
        self
    }

    #[must_use]
    pub fn rule(mut self, rule: &str) -> Self {
        self.rule = Label::new(rule).filled();
        self
    }

    #[must_use]
    pub fn of_test(mut self, test: TestName) -> Self {
        self.test = Some(test);
        self
    }

    #[must_use]
    pub fn expected(mut self, expected: &str) -> Self {
        self.expected = Message::new(expected).filled();
        self
    }

    #[must_use]
    pub fn actual(mut self, actual: &str) -> Self {
        self.actual = Message::new(actual).filled();
        self
    }

    #[must_use]
    pub fn details(mut self, details: &str) -> Self {
        self.details = Details::block(details).filled();
        self
    }

    /// Bytes of its text.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.expected, &self.actual].into_iter().flatten();
        self.message.len()
            + texts.map(|text| text.len()).sum::<usize>()
            + self.details.as_ref().map_or(0, |details| details.len())
            + self.test.as_ref().map_or(0, TestName::bytes)
            + self.rule.as_ref().map_or(0, |rule| rule.len())
            + self.place.bytes()
    }
}
