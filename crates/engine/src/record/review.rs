//! What a second agent found in the change.

use std::collections::BTreeSet;

use contracts::agent::Finding;
use domain::{code::CommitId, finding::FindingId};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRecord {
    pub commit: String,
    /// From 1.
    pub round: u64,
    pub findings: Vec<ReviewFinding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFinding {
    pub path: String,
    pub line: u32,
    pub what: String,
    pub failing_input: String,
}

impl ReviewFinding {
    /// Made of what it says each time, so that no document can claim another's.
    pub fn id(&self) -> FindingId {
        FindingId::of(&self.path, &self.what, &self.failing_input)
    }

    /// All of it, in one line.
    pub fn sentence(&self) -> String {
        let Self { path, line, what, failing_input } = self;
        format!("{path}:{line}: {what} (fails with: {failing_input})")
    }
}

impl ReviewRecord {
    pub(crate) fn of(commit: &CommitId, round: u64, findings: &[Finding]) -> Self {
        let finding = |it: &Finding| ReviewFinding {
            path: it.path.clone(),
            line: it.line,
            what: it.what.clone(),
            failing_input: it.failing_input.clone(),
        };
        let findings = findings.iter().map(finding).collect();
        Self { commit: commit.to_string(), round, findings }
    }

    /// What the findings are known by.
    pub fn ids(&self) -> BTreeSet<FindingId> {
        self.findings.iter().map(ReviewFinding::id).collect()
    }

    /// The findings that nobody has dismissed.
    pub fn open<'a>(
        &'a self,
        dismissed: &'a BTreeSet<FindingId>,
    ) -> impl Iterator<Item = &'a ReviewFinding> {
        self.findings.iter().filter(|it| !dismissed.contains(&it.id()))
    }

    /// What the agent is told to mend, if there is anything.
    pub(crate) fn advice(&self, dismissed: &BTreeSet<FindingId>) -> Option<String> {
        let lines: Vec<String> = self.open(dismissed).map(ReviewFinding::sentence).collect();
        let head = match lines.len() {
            0 => return None,
            1 => "A reviewer found a fault in your change:".to_owned(),
            many => format!("A reviewer found {many} faults in your change:"),
        };
        Some(std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n"))
    }

    pub(crate) fn to_text(&self) -> String {
        super::write(self)
    }

    pub fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}
