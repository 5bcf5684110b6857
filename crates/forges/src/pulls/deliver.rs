//! Pushes a task's branch, and opens its pull request or updates it.
//!
//! Both happen in one push where the other side can do that. What was done is read from the other side each time, so it does not
//! matter where an earlier call ended, nor who else calls.
//!
//! Numbers are unique because each takes the first that is free, and only if it still is. For the same reason a branch has one
//! pull request: whoever loses the number looks again, and finds what the winner opened.
//!
//! What a record says about what we did is not believed: whoever may push can write it. What was delivered before, and into which branch it
//! goes, the task says by its own events.

use std::collections::BTreeSet;

use contracts::forge::{Delivery, PullError, PullRequest, PullState};
use domain::code::{CommitId, PullRequestNumber};
use git::{Far, PushError, RefName, Update};

use super::{
    ledger::{ATTEMPTS, Entry, Ledger, PULLS, Records, crowded, far_trouble, git_trouble},
    record::{self, Record},
};
use crate::{host::address, refs};

impl Ledger<'_> {
    pub(super) async fn deliver(&self, delivery: &Delivery) -> Result<PullRequest, PullError> {
        let (git, path) = (self.host.git(), &self.mirror.path);
        let commit = format!("{}^{{commit}}", delivery.commit);
        if !git.has(path, &commit).await.map_err(git_trouble)? {
            let reason = format!("{} was never taken out of a sandbox", delivery.commit);
            return Err(PullError::Refused { reason });
        }
        for _ in 0..ATTEMPTS {
            if let Some(number) = self.deliver_once(delivery).await? {
                let address = address(self.repository, number);
                return Ok(PullRequest { number, address });
            }
        }
        Err(crowded())
    }

    /// Nothing when somebody was faster.
    async fn deliver_once(
        &self,
        delivery: &Delivery,
    ) -> Result<Option<PullRequestNumber>, PullError> {
        let branch = RefName::branch(&delivery.branch);
        let (far, records) = self.records(&[branch.as_str(), PULLS]).await?;
        check_base(&far, &branch, delivery)?;
        let (open, free) = of_branch(records, delivery)?;
        let open = match open {
            Some(entry) => Some(self.really_ended(entry, delivery).await?),
            None => None,
        };
        if let Some(Entry { record, .. }) = &open
            && let Some(how) = record.is_ended()
        {
            // Its own last delivery, repeated, has nothing to say against that.
            let is_repeated = record.delivered == delivery.commit;
            let ended = PullError::Ended { number: record.number, how };
            return if is_repeated { Ok(Some(record.number)) } else { Err(ended) };
        }
        let tip = far.at(&branch);
        match (tip, &open) {
            (None, None) => {}
            (None, Some(_)) => {
                return Err(PullError::BranchGone { branch: delivery.branch.to_string() });
            }
            (Some(tip), _) => self.check_branch(delivery, tip).await?,
        }

        let mut updates = Vec::new();
        if tip != Some(&delivery.commit) {
            let (old, new) = (tip.cloned(), delivery.commit.clone());
            updates.push(Update { name: branch, old, new });
        }
        let (record, old) = match open {
            Some(Entry { record, at }) => (updated(&record, delivery), Some((record, at))),
            None => (opened(free, delivery), None),
        };
        let number = record.number;
        if old.as_ref().is_none_or(|(before, _)| *before != record) {
            let old = old.map(|(_, at)| at);
            let new = self.write(&record, old.as_ref()).await?;
            updates.push(Update { name: refs::pull(number), old, new });
        }
        if updates.is_empty() {
            return Ok(Some(number));
        }
        match self.push(&updates).await {
            Ok(()) => Ok(Some(number)),
            Err(PushError::Stale) => Ok(None),
            Err(error) => Err(far_trouble(error)),
        }
    }

    /// That it is merged is believed of a record that we sealed, or where something of ours is in the base. Otherwise it is open, whatever
    /// somebody wrote.
    async fn really_ended(&self, entry: Entry, delivery: &Delivery) -> Result<Entry, PullError> {
        match &entry.record.state {
            PullState::Draft | PullState::Open | PullState::Closed { .. } => return Ok(entry),
            PullState::Merged { .. } if self.has_ended(&entry.record) => return Ok(entry),
            PullState::Merged { .. } => {}
        }
        if self.is_in(&delivery.base, &delivery.ours).await? {
            return Ok(entry);
        }
        let Entry { record, at } = entry;
        let state = PullState::Draft;
        Ok(Entry { record: Record { state, state_seal: None, merged_onto: None, ..record }, at })
    }

    /// Nothing of somebody else's would be lost: the branch is where we left it, or behind the new commit.
    async fn check_branch(&self, delivery: &Delivery, tip: &CommitId) -> Result<(), PullError> {
        if *tip == delivery.commit || delivery.ours.contains(tip) {
            return Ok(());
        }
        let (git, path) = (self.host.git(), &self.mirror.path);
        // What we do not have we cannot have built on.
        let is_known = git.has(path, &format!("{tip}^{{commit}}")).await.map_err(git_trouble)?;
        if is_known && git.is_ancestor(path, tip, &delivery.commit).await.map_err(git_trouble)? {
            return Ok(());
        }
        let ours = delivery.ours.iter().find(|ours| **ours != delivery.commit).cloned();
        let branch = delivery.branch.to_string();
        Err(PullError::Moved { branch, theirs: tip.clone(), ours })
    }
}

/// Nobody has opened as many pull requests. A larger number is somebody's nonsense, and ours do not follow it.
const LARGEST_NUMBER: u64 = 1_000_000_000;

/// The branch's pull request, if it has one, and the first number that is free: after those that can be read, and where nothing is.
fn of_branch(
    records: Records,
    delivery: &Delivery,
) -> Result<(Option<Entry>, PullRequestNumber), PullError> {
    let taken: BTreeSet<u64> = records.keys().map(|number| number.0).collect();
    let mut readable: Vec<Entry> = records.into_values().filter_map(Result::ok).collect();
    let numbers = readable.iter().map(|entry| entry.record.number.0);
    let highest = numbers.filter(|number| *number <= LARGEST_NUMBER).max().unwrap_or(0);
    let none_left = || PullError::Rejected { reason: "there is no number left".to_owned() };
    let mut numbers = highest.saturating_add(1)..=u64::MAX;
    let free = numbers.find(|number| !taken.contains(number)).ok_or_else(none_left)?;
    readable.retain(|entry| entry.record.branch == delivery.branch);
    // Somebody may have written another record for our branch.
    let known = |entry: &Entry| Some(entry.record.number) == delivery.earlier;
    let at = readable.iter().position(known).unwrap_or(0);
    let found = readable.into_iter().nth(at);
    Ok((found, PullRequestNumber(free)))
}

/// The default branch, by its short name.
pub(super) fn default_of(far: &Far) -> Result<String, PullError> {
    let Some(default) = &far.default else {
        let reason = "the repository has no default branch to merge into".to_owned();
        return Err(PullError::Rejected { reason });
    };
    let short = default.as_str().strip_prefix("refs/heads/").unwrap_or_default();
    Ok(short.to_owned())
}

/// A branch of ours is neither the default branch nor what it is to be merged into.
fn check_base(far: &Far, branch: &RefName, delivery: &Delivery) -> Result<(), PullError> {
    let base = RefName::base(&delivery.base).ok_or_else(|| PullError::Refused {
        reason: format!("`{}` is not a branch that can be merged into", delivery.base),
    })?;
    if far.default.as_ref() == Some(branch) || base == *branch {
        return Err(PullError::DefaultBranch { branch: delivery.branch.to_string() });
    }
    Ok(())
}

/// A draft, until a person approves of it (RV2).
fn opened(number: PullRequestNumber, delivery: &Delivery) -> Record {
    Record {
        number,
        title: one_line(&delivery.title),
        body: fitting(&delivery.body),
        state: PullState::Draft,
        state_seal: None,
        merged_onto: None,
        branch: delivery.branch.clone(),
        base: delivery.base.clone(),
        delivered: delivery.commit.clone(),
        comments: Vec::new(),
        checks: Vec::new(),
        reviews: Vec::new(),
    }
}

fn updated(before: &Record, delivery: &Delivery) -> Record {
    Record {
        title: one_line(&delivery.title),
        body: fitting(&delivery.body),
        base: delivery.base.clone(),
        delivered: delivery.commit.clone(),
        ..before.clone()
    }
}

/// A title comes from what somebody typed.
fn one_line(title: &str) -> String {
    let line: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().chars().take(120).collect()
}

/// So does what is in a body; that it has a character too many is no reason not to deliver.
fn fitting(body: &str) -> String {
    let fine = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let mut left = record::LONGEST_BODY;
    let fits = |c: &char| {
        left = left.saturating_sub(c.len_utf8());
        left > 0
    };
    body.chars().filter(fine).take_while(fits).collect()
}
