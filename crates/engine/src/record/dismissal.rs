//! What people dismissed of what reviewers found: who, when and why, with the words that they read.
//!
//! Nothing of it is kept twice. That it was dismissed is an event; what it said is in the documents of the reviews.

use std::collections::BTreeSet;

use domain::{digest::Digest, finding::FindingId, id::PersonId, task::Event, time::Timestamp};
use store::{Blobs, History};

use super::{ReviewFinding, ReviewRecord};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dismissal {
    pub finding: FindingId,
    pub by: PersonId,
    pub at: Timestamp,
    pub why: Option<String>,
    /// What it said when it was found last. Nothing, where the document of the review cannot be read.
    pub words: Option<ReviewFinding>,
}

impl Dismissal {
    /// All dismissals of a task, the oldest first.
    pub fn all(history: &History, blobs: &Blobs) -> Vec<Self> {
        let dismissed = history.events.iter().filter_map(|recorded| {
            let Event::FindingDismissed { finding, by, why } = &recorded.event else { return None };
            let (finding, by, why) = (*finding, *by, why.clone());
            Some(Self { finding, by, at: recorded.at, why, words: None })
        });
        let mut all: Vec<Self> = dismissed.collect();
        if all.is_empty() {
            return all;
        }
        let reviews = history.events.iter().filter_map(|recorded| review(&recorded.event));
        let read = reviews.filter_map(|name| ReviewRecord::read(&blobs.get(name).ok()?).ok());
        for finding in read.flat_map(|record| record.findings) {
            let id = finding.id();
            if let Some(dismissal) = all.iter_mut().find(|it| it.finding == id) {
                dismissal.words = Some(finding);
            }
        }
        all
    }

    /// What an agent is told of it.
    pub(crate) fn advice(&self) -> Option<String> {
        let said = self.words.as_ref()?.sentence();
        Some(match &self.why {
            Some(why) => format!("{said}\nDismissed by a person: {why}"),
            None => format!("{said}\nDismissed by a person."),
        })
    }

    /// One line for people: who and why first, because what a reviewer wrote may be long.
    pub(crate) fn sentence(&self, name: &str) -> String {
        let said =
            self.words.as_ref().map_or_else(|| self.finding.short(), ReviewFinding::sentence);
        match &self.why {
            Some(why) => format!("dismissed by {name} ({why}): {said}"),
            None => format!("dismissed by {name}: {said}"),
        }
    }

    pub(crate) fn ids(all: &[Self]) -> BTreeSet<FindingId> {
        all.iter().map(|it| it.finding).collect()
    }
}

/// The document of a review, if the event is of one.
const fn review(event: &Event) -> Option<Digest> {
    if let Event::ReviewPassed { evidence } | Event::ReviewFoundFaults { evidence, .. } = event {
        return Some(*evidence);
    }
    None
}
