//! What was checked, row by row, as a person reads it.

use std::fmt;

use crate::visible::line;

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Signature,
    Repository,
    Commit,
    Tree,
    Request,
    Plan,
    Approval,
    Order,
    Checks,
    Egress,
    Transcript,
}

impl Subject {
    /// The stable name, for people and for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signature => "signature",
            Self::Repository => "repository",
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Request => "request",
            Self::Plan => "plan",
            Self::Approval => "approval",
            Self::Order => "order",
            Self::Checks => "checks",
            Self::Egress => "egress",
            Self::Transcript => "transcript",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    Holds,
    DoesNotHold,
    /// The receipt says, truly, that nothing was proven.
    Unproven,
    /// The caller did not say what to compare it with, or there is nothing.
    Unknown,
}

impl Finding {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Unproven => "unproven",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub subject: Subject,
    pub finding: Finding,
    /// A few words on one line. Names of people and checks in it are what these go by.
    pub detail: String,
}

impl Row {
    /// Bytes of the few words.
    const DETAIL_LIMIT: usize = 500;

    pub(super) fn holds(subject: Subject, detail: &str) -> Self {
        Self::new(subject, Finding::Holds, detail)
    }

    pub(super) fn does_not_hold(subject: Subject, detail: &str) -> Self {
        Self::new(subject, Finding::DoesNotHold, detail)
    }

    pub(super) fn unproven(subject: Subject, detail: &str) -> Self {
        Self::new(subject, Finding::Unproven, detail)
    }

    pub(super) fn unknown(subject: Subject, detail: &str) -> Self {
        Self::new(subject, Finding::Unknown, detail)
    }

    fn new(subject: Subject, finding: Finding, detail: &str) -> Self {
        Self { subject, finding, detail: line(detail, Self::DETAIL_LIMIT) }
    }

    pub(super) fn compare<T: PartialEq + fmt::Display>(
        subject: Subject,
        said: &T,
        known: Option<&T>,
    ) -> Self {
        match known {
            None => {
                let told = format!("the receipt says {said}; nothing to compare it with");
                Self::unknown(subject, &told)
            }
            Some(known) if known == said => Self::holds(subject, &said.to_string()),
            Some(known) => {
                let told = format!("the receipt says {said}, but here is {known}");
                Self::does_not_hold(subject, &told)
            }
        }
    }
}

/// Every row, in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checklist(Vec<Row>);

impl Checklist {
    pub(super) const fn new(rows: Vec<Row>) -> Self {
        Self(rows)
    }

    pub fn rows(&self) -> &[Row] {
        &self.0
    }

    /// The worst of all findings: one that does not hold, else that nothing was proven, else one that is unknown.
    pub fn finding(&self) -> Finding {
        let has = |finding| self.0.iter().any(|row| row.finding == finding);
        if has(Finding::DoesNotHold) {
            return Finding::DoesNotHold;
        }
        if has(Finding::Unproven) {
            return Finding::Unproven;
        }
        if has(Finding::Unknown) { Finding::Unknown } else { Finding::Holds }
    }

    pub fn of(&self, subject: Subject) -> Option<&Row> {
        self.0.iter().find(|row| row.subject == subject)
    }
}

/// One line for each row.
impl fmt::Display for Checklist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|row| {
            writeln!(f, "{:<11} {:<14} {}", row.subject.name(), row.finding.name(), row.detail)
        })
    }
}
