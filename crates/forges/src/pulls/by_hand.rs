//! Notices that somebody brought a pull request into its base branch with git alone.
//!
//! Nobody tells us of that, so it is looked at whenever a pull request is: what was delivered last is in the base, or it is not. The record
//! itself stays as it is; who merges the pull request afterwards writes it down.

use contracts::forge::{Author, PullError, PullState};
use domain::code::CommitId;
use git::{Far, RefName};

use super::{
    ledger::{Ledger, git_trouble},
    record::Record,
};

/// Git does not say who moved a branch.
const SOMEBODY: &str = "somebody, with git";

impl Ledger<'_> {
    /// What the base branches of open pull requests are at.
    pub(super) async fn bases(
        &self,
        records: impl Iterator<Item = &Record>,
    ) -> Result<Option<Far>, PullError> {
        let open = records.filter(|record| record.is_ended().is_none());
        let mut names: Vec<RefName> =
            open.filter_map(|record| RefName::base(&record.base)).collect();
        names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup_by(|one, other| one.as_str() == other.as_str());
        if names.is_empty() {
            return Ok(None);
        }
        let names: Vec<&str> = names.iter().map(RefName::as_str).collect();
        Ok(Some(self.look(&names).await?))
    }

    /// Whether one of these commits is in a branch, as the branch is now.
    pub(super) async fn is_in(&self, base: &str, commits: &[CommitId]) -> Result<bool, PullError> {
        let Some(base) = RefName::base(base) else { return Ok(false) };
        let far = self.look(&[base.as_str()]).await?;
        let Some(tip) = far.at(&base) else { return Ok(false) };
        for commit in commits {
            if self.reaches((&base, tip), commit).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a branch that is at `tip` holds a commit. What is not even here now is in no branch that we could have looked at.
    async fn reaches(
        &self,
        (branch, tip): (&RefName, &CommitId),
        commit: &CommitId,
    ) -> Result<bool, PullError> {
        let (git, path) = (self.host.git(), &self.mirror.path);
        let has = async |commit: &CommitId| {
            git.has(path, &format!("{commit}^{{commit}}")).await.map_err(git_trouble)
        };
        if !has(tip).await? {
            self.bring(&[branch.as_str()]).await?;
        }
        if !has(tip).await? || !has(commit).await? {
            return Ok(false);
        }
        git.is_ancestor(path, commit, tip).await.map_err(git_trouble)
    }

    /// The record, merged if what was delivered is in its base.
    pub(super) async fn noticed(
        &self,
        bases: Option<&Far>,
        record: Record,
    ) -> Result<Record, PullError> {
        let base = RefName::base(&record.base);
        let onto = base.as_ref().and_then(|base| bases?.at(base));
        let (None, Some(base), Some(onto)) = (record.is_ended(), &base, onto) else {
            return Ok(record);
        };
        if !self.reaches((base, onto), &record.delivered).await? {
            return Ok(record);
        }
        let by = Author::Person(SOMEBODY.to_owned());
        let before = self.merged_by_hand(onto, &record.delivered).await?;
        let merged_onto = before.or_else(|| Some(onto.clone()));
        let state = PullState::Merged { commit: onto.clone(), by };
        Ok(Record { state, merged_onto, ..record })
    }
}
