//! What a pull request changes, as a patch.

use contracts::forge::{Diff, PullError};
use domain::code::PullRequestNumber;
use git::RefName;

use super::ledger::{Entry, Ledger, git_trouble};
use crate::reading::told;

impl Ledger<'_> {
    /// From where it left its base to what its branch is at; after the end, to what was delivered last.
    pub(super) async fn diff(&self, number: PullRequestNumber) -> Result<Diff, PullError> {
        let (_, Entry { record, .. }) = self.record(number, &[]).await?;
        let (branch, base) = (RefName::branch(&record.branch), RefName::base(&record.base));
        let names: Vec<&str> =
            [Some(&branch), base.as_ref()].into_iter().flatten().map(RefName::as_str).collect();
        let far = self.look(&names).await?;
        let there = [Some(&branch), base.as_ref()].into_iter().flatten();
        let there = there.filter(|name| far.at(name).is_some()).map(RefName::as_str);
        self.bring(&there.collect::<Vec<_>>()).await?;
        let head = match record.is_ended() {
            Some(_) => &record.delivered,
            None => far.at(&branch).unwrap_or(&record.delivered),
        };
        let onto = record.merged_onto.as_ref().or_else(|| far.at(base.as_ref()?));
        let onto = onto.ok_or_else(|| PullError::BranchGone { branch: record.base.clone() })?;
        let (git, path) = (self.host.git(), &self.mirror.path);
        let range = format!("{onto}...{head}");
        git.patch(path, head, &range).await.map(told).map_err(git_trouble)
    }
}
