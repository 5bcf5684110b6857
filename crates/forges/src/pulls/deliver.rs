//! Pushes a task's branch, and opens its pull request or updates it.
//!
//! Both happen in one push where the other side can do that. What was done is read from the other side each time, so it does not
//! matter where an earlier call ended, nor who else calls.
//!
//! Numbers are unique because each takes the first that is free, and only if it still is. For the same reason a branch has one
//! pull request: whoever loses the number looks again, and finds what the winner opened.

use contracts::forge::{Delivery, PullError, PullRequest, PullState};
use domain::code::{CommitId, PullRequestNumber};

use super::{
    ledger::{ATTEMPTS, Entry, Ledger, PULLS, Records, crowded, far_trouble, git_trouble},
    record::{self, Record},
};
use crate::{
    git::{Far, PushError, RefName, Update},
    house::House,
};

impl<H: House> Ledger<'_, H> {
    pub(super) async fn deliver(&self, delivery: &Delivery) -> Result<PullRequest, PullError> {
        let (git, path) = (self.house.git(), &self.mirror.path);
        let commit = format!("{}^{{commit}}", delivery.commit);
        if !git.has(path, &commit).await.map_err(git_trouble)? {
            let reason = format!("{} was never taken out of a sandbox", delivery.commit);
            return Err(PullError::Refused { reason });
        }
        for _ in 0..ATTEMPTS {
            if let Some(number) = self.deliver_once(delivery).await? {
                let address = self.house.address(self.repository, number);
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
        let base = base_of(&far, &branch, delivery)?;
        let (open, free) = of_branch(records, delivery)?;
        if let Some(Entry { record, .. }) = &open
            && let Some(how) = record.is_ended()
        {
            // Its own last delivery, repeated, has nothing to say against that.
            let is_repeated = record.delivered == delivery.commit;
            let ended = PullError::Ended { number: record.number, how };
            return if is_repeated { Ok(Some(record.number)) } else { Err(ended) };
        }
        let tip = far.at(&branch);
        let last = open.as_ref().map(|entry| &entry.record.delivered);
        self.check_branch(delivery, tip, last).await?;

        let mut updates = Vec::new();
        if tip != Some(&delivery.commit) {
            let (old, new) = (tip.cloned(), delivery.commit.clone());
            updates.push(Update { name: branch, old, new });
        }
        let (record, old) = match open {
            Some(Entry { record, at }) => (updated(&record, delivery), Some((record, at))),
            None => (opened(free, base, delivery), None),
        };
        let number = record.number;
        if old.as_ref().is_none_or(|(before, _)| *before != record) {
            let old = old.map(|(_, at)| at);
            let new = self.write(&record, old.as_ref()).await?;
            updates.push(Update { name: RefName::pull(number), old, new });
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

    /// Nothing of somebody else's would be lost: the branch is new, or where we left it, or behind the new commit.
    async fn check_branch(
        &self,
        delivery: &Delivery,
        tip: Option<&CommitId>,
        last: Option<&CommitId>,
    ) -> Result<(), PullError> {
        let branch = || delivery.branch.to_string();
        let tip = match (tip, last) {
            (None, None) => return Ok(()),
            (None, Some(_)) => return Err(PullError::BranchGone { branch: branch() }),
            (Some(tip), _) if *tip == delivery.commit || Some(tip) == last => return Ok(()),
            (Some(tip), _) => tip,
        };
        let (git, path) = (self.house.git(), &self.mirror.path);
        // What we do not have we cannot have built on.
        let is_known = git.has(path, &format!("{tip}^{{commit}}")).await.map_err(git_trouble)?;
        if is_known && git.is_ancestor(path, tip, &delivery.commit).await.map_err(git_trouble)? {
            return Ok(());
        }
        Err(PullError::Moved { branch: branch(), theirs: tip.clone(), ours: last.cloned() })
    }
}

/// The branch's pull request, if it has one, and the first number that is free. A record that cannot be read is nobody's, but its
/// number is taken.
fn of_branch(
    records: Records,
    delivery: &Delivery,
) -> Result<(Option<Entry>, PullRequestNumber), PullError> {
    let highest = records.keys().next_back().map_or(0, |number| number.0);
    let none_left = || PullError::Rejected { reason: "there is no number left".to_owned() };
    let free = highest.checked_add(1).map(PullRequestNumber).ok_or_else(none_left)?;
    let mut readable = records.into_values().filter_map(Result::ok);
    Ok((readable.find(|entry| entry.record.branch == delivery.branch), free))
}

fn base_of(far: &Far, branch: &RefName, delivery: &Delivery) -> Result<String, PullError> {
    let Some(default) = &far.default else {
        let reason = "the repository has no default branch to merge into".to_owned();
        return Err(PullError::Rejected { reason });
    };
    if default == branch {
        return Err(PullError::DefaultBranch { branch: delivery.branch.to_string() });
    }
    let short = default.as_str().strip_prefix("refs/heads/").unwrap_or_default();
    Ok(short.to_owned())
}

/// A draft, until a person approves of it (RV2).
fn opened(number: PullRequestNumber, base: String, delivery: &Delivery) -> Record {
    Record {
        number,
        title: one_line(&delivery.title),
        body: fitting(&delivery.body),
        state: PullState::Draft,
        merged_onto: None,
        branch: delivery.branch.clone(),
        base,
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
