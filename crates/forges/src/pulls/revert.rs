//! Takes a merged pull request back, with another pull request.
//!
//! ```text
//!  began ──▶ head        what the change was
//!               └── merged ──▶ … ──▶ tip of the base
//!                                     └──▶ the revert: tip, with what lies between head and began undone
//! ```
//!
//! It is a merge of three trees, made from objects alone. For the same tip it is the same commit, so it does not matter where an earlier call
//! ended: whoever repeats it finds the branch, the pull request, or neither.

use contracts::forge::{Delivery, Known, PullError, PullRequest, PullState, Revert};
use domain::code::{BranchName, CommitId, PullRequestNumber};
use git::{Far, GitError, RefName};

use super::{
    ledger::{ATTEMPTS, Entry, Ledger, PULLS, Records, crowded, git_trouble},
    record::Record,
};
use crate::{
    host::{Identity, address},
    taking::write_commit,
};

impl Ledger<'_> {
    pub(super) async fn revert(
        &self,
        number: PullRequestNumber,
        revert: &Revert,
    ) -> Result<PullRequest, PullError> {
        let (_, Entry { record, .. }) = self.record(number, &[]).await?;
        let record = match &revert.known {
            Some(known) => self.really_merged(record, known),
            None => record,
        };
        let bases = self.bases(std::iter::once(&record)).await?;
        let record = self.noticed(bases.as_ref(), record).await?;
        let merged = match &record.state {
            PullState::Draft | PullState::Open => return Err(PullError::NotMerged { number }),
            PullState::Closed { .. } => {
                let reason = format!(
                    "pull request {number} was closed and never merged: there is nothing to take back"
                );
                return Err(PullError::Rejected { reason });
            }
            PullState::Merged { commit, .. } => commit.clone(),
        };
        for name in 1..=ATTEMPTS {
            let branch = branch(number, name)?;
            let own = RefName::branch(&record.branch);
            let base = RefName::base(&record.base).ok_or_else(crowded)?;
            let at = RefName::branch(&branch);
            let (far, records) =
                self.records(&[PULLS, at.as_str(), own.as_str(), base.as_str()]).await?;
            match earlier(records, &branch) {
                Some(Record { state: PullState::Closed { .. }, .. }) => continue,
                Some(there) => {
                    let address = address(self.repository, there.number);
                    return Ok(PullRequest { number: there.number, address });
                }
                None => {}
            }
            let change = Change { record: &record, merged: &merged, began: &revert.began };
            let commit = self.undone(&far, &base, &change, revert).await?;
            if far.at(&at).is_some_and(|there| *there != commit) {
                // Left by a call that ended before the base moved on, or somebody else's.
                continue;
            }
            let delivery = Delivery {
                repository: self.repository.clone(),
                branch,
                base: record.base.clone(),
                earlier: None,
                ours: vec![commit.clone()],
                commit,
                title: revert.title.clone(),
                body: revert.body.clone(),
            };
            return self.deliver(&delivery).await;
        }
        Err(crowded())
    }

    /// The record with what its task knows in place of what somebody may have written: into which branch it went, what of it, and whether.
    /// One that we ended ourselves says that rightly; of any other one the branch is asked.
    fn really_merged(&self, record: Record, known: &Known) -> Record {
        if self.has_ended(&record) && record.base == known.base {
            return record;
        }
        let record =
            Record { base: known.base.clone(), delivered: known.delivered.clone(), ..record };
        match &record.state {
            PullState::Draft | PullState::Open | PullState::Closed { .. } => record,
            // Whether it is, and since when, is seen as if somebody had merged it with git alone.
            PullState::Merged { .. } => {
                let state = PullState::Open;
                Record { state, state_seal: None, merged_onto: None, ..record }
            }
        }
    }

    /// The commit that follows the base and has the change no more.
    async fn undone(
        &self,
        far: &Far,
        base: &RefName,
        change: &Change<'_>,
        revert: &Revert,
    ) -> Result<CommitId, PullError> {
        let Change { record, .. } = change;
        if far.default.as_ref() != Some(base) {
            let reason = format!("`{}` is not the default branch any more", record.base);
            return Err(PullError::Rejected { reason });
        }
        let tip =
            far.at(base).ok_or_else(|| PullError::BranchGone { branch: record.base.clone() })?;
        self.bring(&[base.as_str()]).await?;
        let head = self.merged_head(far, change).await?;
        let from = record.merged_onto.as_ref().filter(|onto| *onto != change.merged);
        let from = from.unwrap_or(change.began);
        let (git, path) = (self.host.git(), &self.mirror.path);
        let common = ["merge-base", from.as_str(), head.as_str()];
        let from = git.ask("find where it began", path, &common).await.map_err(git_trouble)?;
        let around = format!("--merge-base={head}");
        let (tree, paths) = self.merged_tree(&[&around, tip.as_str(), &from]).await?;
        if !paths.is_empty() {
            return Err(PullError::BuiltUpon { number: record.number, paths });
        }
        let now = git.ask("read a tree", path, &["rev-parse", &format!("{tip}^{{tree}}")]).await;
        if now.map_err(git_trouble)? == tree.as_str() {
            let (number, base) = (record.number, &record.base);
            let reason = format!(
                "nothing that pull request {number} changed is in `{base}` any more: there is nothing to take back"
            );
            return Err(PullError::Rejected { reason });
        }
        let seconds =
            git.ask("read a date", path, &["show", "-s", "--format=%ct", tip.as_str()]).await;
        let seconds = seconds.map_err(git_trouble)?.parse();
        let seconds =
            seconds.map_err(|_wrong| git_trouble(GitError::Strange { doing: "read a date" }))?;
        let who = Identity::platform();
        let people = [("AUTHOR", &who), ("COMMITTER", &who)];
        let message = format!("{}\n\n{}\n", revert.title.trim(), revert.body.trim());
        let made = write_commit(git, path, tree.as_str(), &[tip], people, seconds, &message).await;
        made.map_err(git_trouble)
    }

    /// What was merged: the other side of the commit that joined it, or what the base moved forward to.
    async fn merged_head(&self, far: &Far, change: &Change<'_>) -> Result<CommitId, PullError> {
        let Change { record, merged, .. } = *change;
        let (git, path) = (self.host.git(), &self.mirror.path);
        let onto = record.merged_onto.as_ref().filter(|onto| *onto != merged);
        let Some(onto) = onto else { return Ok(record.delivered.clone()) };
        let not_before = format!("^{onto}");
        let steps = ["rev-list", "--first-parent", "--parents", merged.as_str(), &not_before];
        let said = git.ask("find a merge", path, &steps).await.map_err(git_trouble)?;
        // The oldest is the one that came right after what the base was at.
        let joined = said.lines().last().and_then(|line| {
            let mut commits = line.split(' ').skip(1);
            (commits.next()? == onto.as_str()).then(|| commits.next()?.parse().ok())?
        });
        let is_its_branch = far.at(&RefName::branch(&record.branch)) == Some(merged);
        Ok(match joined {
            Some(head) => head,
            // A person may have pushed to the branch before it was merged.
            None if is_its_branch => merged.clone(),
            None => record.delivered.clone(),
        })
    }
}

/// What is to be taken back.
struct Change<'a> {
    record: &'a Record,
    /// What the base was at afterwards.
    merged: &'a CommitId,
    began: &'a CommitId,
}

fn earlier(records: Records, branch: &BranchName) -> Option<Record> {
    let mut readable = records.into_values().filter_map(Result::ok).map(|entry| entry.record);
    readable.find(|record| record.branch == *branch)
}

/// Beside the branches of tasks, so that it is looked at with them.
fn branch(number: PullRequestNumber, attempt: usize) -> Result<BranchName, PullError> {
    let name = match attempt {
        1 => format!("agent/revert-{}", number.0),
        more => format!("agent/revert-{}-{more}", number.0),
    };
    let parsed = name.parse();
    parsed.map_err(|error: domain::code::CodeNameError| PullError::Refused {
        reason: error.to_string(),
    })
}
