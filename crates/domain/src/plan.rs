//! The plan: what an agent intends to do, written down so that a person can say yes to exactly this.
//!
//! A plan is known by the hash of its canonical encoding ([`Plan::hash`]). An approval names that
//! hash, so that a plan which changed after it was read is not approved.

use std::{fmt, str::FromStr, time::Duration};

use crate::{
    digest::{Digest, DigestError, Fingerprint},
    money::Money,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub summary: String,
    pub files: Vec<FileChange>,
    pub tests: Vec<String>,
    pub expected_behaviour: String,
    pub commands: Vec<String>,
    pub hosts: Vec<String>,
    pub risks: Vec<String>,
    pub estimate: Estimate,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    pub why: String,
}

/// What the work should take. Unknown is unknown: without history no figure is made up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    pub time: Option<Duration>,
    pub cost: Option<Money>,
}

/// The name of one exact plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanHash(Digest);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    #[error("the plan has no summary")]
    NoSummary,
    #[error("the plan changes no file")]
    NoFiles,
    #[error("the plan names `{0}`, which is not a path inside the repository")]
    PathOutside(String),
    #[error("the plan has {length} bytes of text, and {limit} are allowed")]
    TooLong { length: usize, limit: usize },
}

impl Plan {
    pub const TEXT_LIMIT: usize = 256 * 1024;

    /// What keeps this plan from being shown to a person, if anything does.
    pub fn fault(&self) -> Option<PlanFault> {
        if self.summary.trim().is_empty() {
            return Some(PlanFault::NoSummary);
        }
        if self.files.is_empty() {
            return Some(PlanFault::NoFiles);
        }
        if let Some(file) = self.files.iter().find(|file| !stays_inside(&file.path)) {
            return Some(PlanFault::PathOutside(file.path.clone()));
        }
        let length = self.text_length();
        (length > Self::TEXT_LIMIT)
            .then_some(PlanFault::TooLong { length, limit: Self::TEXT_LIMIT })
    }

    pub fn hash(&self) -> PlanHash {
        let words =
            |hash: Fingerprint, items: &[String]| hash.list(items, |it, word| it.text(word));
        let hash = Fingerprint::of_kind("lamplighter plan 1")
            .text(&self.summary)
            .list(&self.files, |hash, file| hash.text(&file.path).text(&file.why));
        let hash = words(hash, &self.tests).text(&self.expected_behaviour);
        let hash = words(hash, &self.commands);
        let hash = words(hash, &self.hosts);
        let hash = words(hash, &self.risks);
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let hash = optional(hash, self.estimate.time.map(millis));
        PlanHash(optional(hash, self.estimate.cost.map(Money::as_micros)).finish())
    }

    fn text_length(&self) -> usize {
        let lists = [&self.tests, &self.commands, &self.hosts, &self.risks];
        let listed: usize = lists.into_iter().flatten().map(String::len).sum();
        let files: usize = self.files.iter().map(|file| file.path.len() + file.why.len()).sum();
        self.summary.len() + self.expected_behaviour.len() + listed + files
    }
}

fn optional(hash: Fingerprint, number: Option<u64>) -> Fingerprint {
    match number {
        None => hash.number(0),
        Some(number) => hash.number(1).number(number),
    }
}

/// A relative path that cannot climb out of the repository or into its `.git`.
pub(crate) fn stays_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\0', '\\'])
        && path
            .split('/')
            .all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"))
}

impl fmt::Display for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PlanHash {
    pub fn short(&self) -> String {
        self.0.short()
    }
}

impl FromStr for PlanHash {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Plan {
        Plan {
            summary: "Wait for the session before asserting".to_owned(),
            files: vec![FileChange { path: "tests/login.rs".to_owned(), why: "race".to_owned() }],
            tests: vec!["login twice at once".to_owned()],
            expected_behaviour: "the test passes 1,000 times".to_owned(),
            commands: vec!["cargo test login".to_owned()],
            hosts: Vec::new(),
            risks: vec!["none known".to_owned()],
            estimate: Estimate::default(),
        }
    }

    /// The encoding is a promise: approvals from last year name hashes made by it.
    #[test]
    fn the_hash_of_a_plan_does_not_change_between_versions() {
        assert_eq!(
            sample().hash().to_string(),
            "745169c4753d52d888826ffb4e0dcef9fdd92e307fb01ee15e15dd1e493f26a8"
        );
    }

    #[test]
    fn every_field_counts() {
        let changes: [fn(&mut Plan); 10] = [
            |plan| plan.summary.push('!'),
            |plan| plan.files[0].path.push('x'),
            |plan| plan.files[0].why.push('x'),
            |plan| plan.tests.push("more".to_owned()),
            |plan| plan.expected_behaviour.push('x'),
            |plan| plan.commands.push("curl evil".to_owned()),
            |plan| plan.hosts.push("evil.example".to_owned()),
            |plan| plan.risks.clear(),
            |plan| plan.estimate.time = Some(Duration::ZERO),
            |plan| plan.estimate.cost = Some(Money::ZERO),
        ];
        let mut seen = vec![sample().hash()];
        for change in changes {
            let mut plan = sample();
            change(&mut plan);
            assert!(!seen.contains(&plan.hash()), "{plan:?}");
            seen.push(plan.hash());
        }
    }

    #[test]
    fn an_item_cannot_move_between_lists_unseen() {
        let (mut one, mut two) = (sample(), sample());
        one.commands = vec!["a".to_owned()];
        one.hosts = Vec::new();
        two.commands = Vec::new();
        two.hosts = vec!["a".to_owned()];
        assert_ne!(one.hash(), two.hash());
    }

    #[test]
    fn a_plan_stays_inside_the_repository() {
        assert_eq!(sample().fault(), None);
        for path in ["/etc/passwd", "../x", "a/../../x", ".git/config", "a/.GIT/hooks", "", "a//b"]
        {
            let mut plan = sample();
            path.clone_into(&mut plan.files[0].path);
            assert_eq!(plan.fault(), Some(PlanFault::PathOutside(path.to_owned())));
        }
    }
}
