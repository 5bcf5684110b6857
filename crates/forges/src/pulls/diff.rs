//! What a pull request changes, as a patch.

use contracts::{
    forge::{Diff, PullError},
    sandbox::Cut,
};
use domain::code::PullRequestNumber;
use tokio::io::AsyncReadExt as _;

use super::ledger::{Entry, Ledger, git_trouble};
use crate::{
    git::{GitError, QUICK, RefName, Running},
    house::House,
};

/// More than anybody reads; the rest is in the repository.
const LARGEST: u64 = 8 << 20;

impl<H: House> Ledger<'_, H> {
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
        self.patch(&format!("{onto}...{head}")).await.map_err(git_trouble)
    }

    async fn patch(&self, range: &str) -> Result<Diff, GitError> {
        let mut command = self.house.git().on(&self.mirror.path);
        command.args(["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index"]);
        command.args(["--submodule=short", "--find-renames", range, "--"]);
        let mut running = Running::start(command, QUICK)?;
        let mut text = Vec::new();
        if let Some(output) = &mut running.output {
            let mut output = output.take(LARGEST);
            let reading = output.read_to_end(&mut text);
            let read = tokio::time::timeout(QUICK.time, reading).await;
            read.map_err(|_late| GitError::OutOfTime)??;
        }
        if text.len() as u64 == LARGEST {
            return Ok(Diff { text, cut: Cut::Cut });
        }
        running.end(1).await?.checked("compare")?;
        Ok(Diff { text, cut: Cut::Whole })
    }
}
