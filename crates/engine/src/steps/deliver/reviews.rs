//! How the reviews went, counted by what each finding is known by: the same finding in two rounds is one.

use std::collections::BTreeSet;

use domain::{finding::FindingId, task::Event};
use evidence::receipt::{Review, ReviewOutcome};
use store::{Blobs, History};

use crate::record::ReviewRecord;

/// What the reviews since the last approval found.
#[derive(Debug, Default)]
pub(super) struct Reviews {
    rounds: u64,
    found: BTreeSet<FindingId>,
    last: Last,
}

/// What the last of them found.
#[derive(Debug, Default)]
enum Last {
    #[default]
    NotReviewed,
    Found(BTreeSet<FindingId>),
    /// It found faults, and its document cannot be read any more.
    Lost,
}

impl Reviews {
    pub(super) fn since_approval(history: &History, blobs: &Blobs) -> Self {
        let read = |name| Some(ReviewRecord::read(&blobs.get(name).ok()?).ok()?.ids());
        let mut reviews = Self::default();
        for recorded in &history.events {
            if let Event::Approved { .. } = &recorded.event {
                reviews = Self::default();
            } else if let Event::ReviewPassed { evidence } = &recorded.event {
                reviews.add(Last::Found(read(*evidence).unwrap_or_default()));
            } else if let Event::ReviewFoundFaults { evidence, .. } = &recorded.event {
                reviews.add(read(*evidence).map_or(Last::Lost, Last::Found));
            }
        }
        reviews
    }

    fn add(&mut self, last: Last) {
        self.rounds += 1;
        if let Last::Found(found) = &last {
            self.found.extend(found);
        }
        self.last = last;
    }

    pub(super) fn have_found(&self, finding: FindingId) -> bool {
        self.found.contains(&finding)
    }

    /// `fixed` counts what an earlier round found and the last did not find again. Whether that was mended or only overlooked, nobody knows: the
    /// receipt's reference says so.
    pub(super) fn told(&self, dismissed: &BTreeSet<FindingId>) -> Review {
        let left = |found: &BTreeSet<FindingId>| count(found.difference(dismissed));
        let (outcome, open) = match &self.last {
            Last::NotReviewed => (ReviewOutcome::NotReviewed, 0),
            Last::Lost => (ReviewOutcome::FindingsLeft, 0),
            Last::Found(found) => match left(found) {
                0 => (ReviewOutcome::Passed, 0),
                open => (ReviewOutcome::FindingsLeft, open),
            },
        };
        Review {
            outcome,
            rounds: self.rounds,
            fixed: left(&self.found).saturating_sub(open),
            open,
            dismissed: count(self.found.intersection(dismissed)),
        }
    }
}

fn count<'a>(findings: impl Iterator<Item = &'a FindingId>) -> u64 {
    u64::try_from(findings.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> BTreeSet<FindingId> {
        names.iter().map(|name| FindingId::of("a.py", name, "1")).collect()
    }

    fn told(rounds: &[&[&str]], dismissed: &[&str]) -> String {
        let mut reviews = Reviews::default();
        for found in rounds {
            reviews.add(Last::Found(ids(found)));
        }
        let Review { outcome, rounds, fixed, open, dismissed } = reviews.told(&ids(dismissed));
        let outcome = outcome.name();
        format!(
            "{outcome} in {rounds}: {fixed} not found again, {open} open, {dismissed} dismissed"
        )
    }

    #[test]
    fn a_finding_is_counted_once_and_a_dismissed_one_is_neither_open_nor_fixed() {
        let stories = [
            told(&[], &[]),
            told(&[&[]], &[]),
            told(&[&["a", "b"], &["b"], &[]], &[]),
            told(&[&["a", "b"], &["b"]], &[]),
            told(&[&["a", "b"], &["b"]], &["b"]),
            told(&[&["a", "b"], &["b"], &["b", "c"]], &["b"]),
            told(&[&["a"]], &["a", "of another plan"]),
        ];
        insta::assert_snapshot!(stories.join("\n"), @r"
        not reviewed in 0: 0 not found again, 0 open, 0 dismissed
        passed in 1: 0 not found again, 0 open, 0 dismissed
        passed in 3: 2 not found again, 0 open, 0 dismissed
        findings left in 2: 1 not found again, 1 open, 0 dismissed
        passed in 2: 1 not found again, 0 open, 1 dismissed
        findings left in 3: 1 not found again, 1 open, 1 dismissed
        passed in 1: 0 not found again, 0 open, 1 dismissed
        ");
    }
}
