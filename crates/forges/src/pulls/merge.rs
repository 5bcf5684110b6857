//! Brings a pull request into its base branch, by hand of a person.
//!
//! Only the commit that the person looked at is merged, into the branch that it was for then: whoever may push can write another one into the
//! record at any moment. When the base has not moved on, the base moves forward to it; otherwise
//! a merge commit joins both, made from objects alone: nothing is checked out here. Where somebody works in the remote, their files move
//! along, or nothing does ([`Checkout`]).

use contracts::forge::{Conflict, Merge, PullError, PullState};
use domain::code::{CommitId, PullRequestNumber};
use git::{GitError, PushError, QUICK, RefName, Succeeded, Update, run};

use super::{
    checkout::Checkout,
    ledger::{ATTEMPTS, Entry, Ledger, crowded, far_trouble, git_trouble},
};
use crate::{host::Identity, inspection::ObjectName, refs, shown, taking::write_commit};

impl Ledger<'_> {
    pub(super) async fn merge(
        &self,
        number: PullRequestNumber,
        merge: &Merge,
    ) -> Result<CommitId, PullError> {
        let mut before = None;
        for _ in 0..ATTEMPTS {
            if let Some(merged) = self.merge_once(number, merge, &mut before).await? {
                return Ok(merged);
            }
        }
        Err(crowded())
    }

    /// Nothing when somebody was faster. `before` is what the base was at, once we have moved it.
    async fn merge_once(
        &self,
        number: PullRequestNumber,
        merge: &Merge,
        before: &mut Option<CommitId>,
    ) -> Result<Option<CommitId>, PullError> {
        let name = refs::pull(number);
        let (_, Entry { mut record, at }) = self.record(number, &[]).await?;
        match &record.state {
            PullState::Merged { commit, .. } => return Ok(Some(commit.clone())),
            PullState::Closed { .. } => return Err(PullError::Ended { number, how: "closed" }),
            PullState::Draft | PullState::Open => {}
        }
        if record.base != merge.base {
            let (looked, now) = (merge.base.clone(), record.base);
            return Err(PullError::OtherBase { number, looked, now });
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
        let moves = Update { name: base, old: Some(onto.clone()), new: merged.clone() };
        let moves = (merged != *onto).then_some(moves);
        let onto = onto.clone();
        // Somebody's files are changed before git knows whether all refs can be: so there the base goes first, alone.
        let together = match (Checkout::of(&self.mirror.source), moves) {
            (Some(checkout), Some(moves)) => {
                checkout.check_idle(&record.base)?;
                match self.push(&[moves]).await {
                    Ok(()) => *before = Some(onto.clone()),
                    Err(PushError::Stale) => return Ok(None),
                    Err(error) => {
                        let branch = record.branch.as_str();
                        return Err(checkout.trouble(error, &record.base, branch));
                    }
                }
                None
            }
            (Some(_), None) => None,
            (None, moves) => moves,
        };
        record.state = PullState::Merged { commit: merged.clone(), by: merge.by.clone() };
        record.merged_onto = match before {
            Some(before) => Some(before.clone()),
            None if merged == onto => self.merged_by_hand(&onto, head).await?.or(Some(onto)),
            None => Some(onto),
        };
        self.seal_state(&mut record);
        let new = self.write(&record, Some(&at)).await?;
        let noted = Update { name, old: Some(at), new };
        let updates: Vec<Update> = together.into_iter().chain([noted]).collect();
        match self.push(&updates).await {
            Ok(()) => Ok(Some(merged)),
            Err(PushError::Stale) => Ok(None),
            Err(error) => Err(far_trouble(error)),
        }
    }

    /// What the base was at before somebody joined `head` to it with a merge commit. Where it only moved forward, nobody can tell.
    pub(super) async fn merged_by_hand(
        &self,
        onto: &CommitId,
        head: &CommitId,
    ) -> Result<Option<CommitId>, PullError> {
        let (git, path) = (self.host.git(), &self.mirror.path);
        let merges = ["rev-list", "--first-parent", "--merges", "--parents", "--max-count=1000"];
        let not_before = format!("^{head}");
        let range = [onto.as_str(), not_before.as_str()];
        let arguments: Vec<&str> = merges.into_iter().chain(range).collect();
        let said = git.ask("find a merge", path, &arguments).await.map_err(git_trouble)?;
        let base_of = |line: &str| {
            let (_, parents) = line.split_once(' ')?;
            let (first, others) = parents.split_once(' ')?;
            others.split(' ').any(|parent| parent == head.as_str()).then(|| first.parse().ok())?
        };
        Ok(said.lines().find_map(base_of))
    }

    /// The commit that holds both.
    async fn joined(
        &self,
        number: PullRequestNumber,
        base: &str,
        onto: &CommitId,
        head: &CommitId,
    ) -> Result<CommitId, PullError> {
        let (git, path) = (self.host.git(), &self.mirror.path);
        if git.is_ancestor(path, head, onto).await.map_err(git_trouble)? {
            // An earlier call got as far as that, or somebody did it by hand.
            return Ok(onto.clone());
        }
        if git.is_ancestor(path, onto, head).await.map_err(git_trouble)? {
            return Ok(head.clone());
        }
        let (tree, paths) = self.merged_tree(&[onto.as_str(), head.as_str()]).await?;
        if !paths.is_empty() {
            return Err(PullError::Conflicts { number, paths });
        }
        let (who, seconds) = (Identity::platform(), self.seconds());
        let people = [("AUTHOR", &who), ("COMMITTER", &who)];
        let message = format!("Merge pull request {number} into {base}\n");
        let parents = [onto, head];
        let joined =
            write_commit(git, path, tree.as_str(), &parents, people, seconds, &message).await;
        joined.map_err(git_trouble)
    }

    /// What git makes of two commits, with the files that it could not join. Without such files it is the whole tree.
    pub(super) async fn merged_tree(
        &self,
        sides: &[&str],
    ) -> Result<(ObjectName, Vec<Conflict>), PullError> {
        let mut command = self.host.git().on(&self.mirror.path);
        command.args(["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z"]);
        command.args(sides);
        let ran = run(command, &[], QUICK).await.map_err(git_trouble)?;
        let strange =
            || git_trouble(GitError::Failed { doing: "merge", reason: ran.complaint.clone() });
        let (tree, paths) = read_merge(&ran.output).ok_or_else(strange)?;
        if ran.succeeded == Succeeded::No && paths.is_empty() {
            return Err(strange());
        }
        Ok((tree, paths))
    }
}

/// A tree, and after it the files in conflict, each ended by NUL.
fn read_merge(said: &[u8]) -> Option<(ObjectName, Vec<Conflict>)> {
    let mut fields = said.split(|byte| *byte == 0);
    let tree = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let paths = fields.take_while(|path| !path.is_empty()).take(50);
    Some((tree, paths.map(|path| Conflict { path: shown::line(path, 300) }).collect()))
}
