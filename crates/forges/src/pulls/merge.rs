//! Brings a pull request into its base branch, by hand of a person.
//!
//! Only the commit that the person looked at is merged. When the base has not moved on, the base moves forward to it; otherwise
//! a merge commit joins both, made from objects alone: nothing is checked out.

use contracts::forge::{Conflict, Merge, PullError, PullState};
use domain::code::{CommitId, PullRequestNumber};

use super::ledger::{ATTEMPTS, Entry, Ledger, crowded, far_trouble, git_trouble, platform};
use crate::{
    git::{GitError, PushError, QUICK, RefName, Succeeded, Update, run},
    house::House,
    inspection::ObjectName,
    shown,
    taking::write_commit,
};

impl<H: House> Ledger<'_, H> {
    pub(super) async fn merge(
        &self,
        number: PullRequestNumber,
        merge: &Merge,
    ) -> Result<CommitId, PullError> {
        for _ in 0..ATTEMPTS {
            if let Some(merged) = self.merge_once(number, merge).await? {
                return Ok(merged);
            }
        }
        Err(crowded())
    }

    /// Nothing when somebody was faster.
    async fn merge_once(
        &self,
        number: PullRequestNumber,
        merge: &Merge,
    ) -> Result<Option<CommitId>, PullError> {
        let name = RefName::pull(number);
        let (_, Entry { mut record, at }) = self.record(number, &[]).await?;
        match &record.state {
            PullState::Merged { commit, .. } => return Ok(Some(commit.clone())),
            PullState::Closed { .. } => return Err(PullError::Ended { number, how: "closed" }),
            PullState::Draft | PullState::Open => {}
        }
        let branch = RefName::branch(&record.branch);
        let base = RefName::base(&record.base).ok_or_else(crowded)?;
        let far = self.look(&[branch.as_str(), base.as_str()]).await?;
        let gone = |name: &str| PullError::BranchGone { branch: name.to_owned() };
        let head = far.at(&branch).ok_or_else(|| gone(record.branch.as_str()))?;
        let onto = far.at(&base).ok_or_else(|| gone(&record.base))?;
        if *head != merge.head {
            let (theirs, ours) = (head.clone(), Some(merge.head.clone()));
            return Err(PullError::Moved { branch: record.branch.to_string(), theirs, ours });
        }
        self.bring(&[branch.as_str(), base.as_str()]).await?;

        let merged = self.joined(number, &record.base, onto, head).await?;
        let mut updates = Vec::new();
        if merged != *onto {
            updates.push(Update { name: base, old: Some(onto.clone()), new: merged.clone() });
        }
        record.state = PullState::Merged { commit: merged.clone(), by: merge.by.clone() };
        record.merged_onto = Some(onto.clone());
        let new = self.write(&record, Some(&at)).await?;
        updates.push(Update { name, old: Some(at), new });
        match self.push(&updates).await {
            Ok(()) => Ok(Some(merged)),
            Err(PushError::Stale) => Ok(None),
            Err(error) => Err(far_trouble(error)),
        }
    }

    /// The commit that holds both.
    async fn joined(
        &self,
        number: PullRequestNumber,
        base: &str,
        onto: &CommitId,
        head: &CommitId,
    ) -> Result<CommitId, PullError> {
        let (git, path) = (self.house.git(), &self.mirror.path);
        if git.is_ancestor(path, head, onto).await.map_err(git_trouble)? {
            // An earlier call got as far as that, or somebody did it by hand.
            return Ok(onto.clone());
        }
        if git.is_ancestor(path, onto, head).await.map_err(git_trouble)? {
            return Ok(head.clone());
        }
        let mut command = git.on(path);
        command.args(["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z"]);
        command.args([onto.as_str(), head.as_str()]);
        let ran = run(command, &[], QUICK).await.map_err(git_trouble)?;
        let (tree, paths) = read_merge(&ran.output).ok_or_else(|| {
            git_trouble(GitError::Failed { doing: "merge", reason: ran.complaint.clone() })
        })?;
        if ran.succeeded == Succeeded::No || !paths.is_empty() {
            return Err(PullError::Conflicts { number, paths });
        }
        let (who, seconds) = (platform(), self.seconds());
        let people = [("AUTHOR", &who), ("COMMITTER", &who)];
        let message = format!("Merge pull request {number} into {base}\n");
        let parents = [onto, head];
        let joined =
            write_commit(git, path, tree.as_str(), &parents, people, seconds, &message).await;
        joined.map_err(git_trouble)
    }
}

/// A tree, and after it the files in conflict, each ended by NUL.
fn read_merge(said: &[u8]) -> Option<(ObjectName, Vec<Conflict>)> {
    let mut fields = said.split(|byte| *byte == 0);
    let tree = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let paths = fields.take_while(|path| !path.is_empty()).take(50);
    Some((tree, paths.map(|path| Conflict { path: shown::line(path, 300) }).collect()))
}
