//! Pull requests on a repository without a forge.
//!
//! A pull request is a record in the repository itself ([`record`]), below a ref of its own that only ever grows. Any remote that
//! git can push to can keep it; a clone can have it; no server of ours has to be there for it to be read.

mod deliver;
mod diff;
mod ledger;
mod merge;
mod notes;
pub mod record;

use contracts::{
    Key,
    forge::{
        Author, Change, Check, Comment, Delivery, Diff, ForgeError, Forges, Merge, Opinion, Pull,
        PullError, PullRequest, PullRequests, PullState, Review,
    },
};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    id::SandboxId,
};
use ledger::{BRANCHES, Edit, Entry, Ledger, PULLS, trouble};
pub use notes::LARGEST_NOTE;
use record::Record;

use crate::{
    git::{Far, RefName},
    house::House,
    plain::PlainGit,
};

impl<H: House> Forges for PlainGit<H> {
    async fn head(&self, repository: &RepositoryName) -> Result<CommitId, ForgeError> {
        let mirror = self.house.mirror(repository).map_err(trouble)?;
        self.house.fetch(repository).await.map_err(trouble)?;
        let head = ["rev-parse", "--verify", "--end-of-options", "HEAD^{commit}"];
        let asked = self.house.git().ask("find the newest commit", &mirror.path, &head).await;
        let asked = asked.map_err(|error| ForgeError::Rejected { reason: error.to_string() })?;
        asked
            .parse()
            .map_err(|_wrong| ForgeError::Rejected { reason: "it has no commit".to_owned() })
    }

    async fn take_change(
        &self,
        key: Key,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> Result<Change, ForgeError> {
        Ok(self.take(key, sandbox, repository).await?.change)
    }

    async fn deliver(&self, _key: Key, delivery: &Delivery) -> Result<PullRequest, ForgeError> {
        let ledger = Ledger::open(&self.house, &delivery.repository)?;
        Ok(ledger.deliver(delivery).await?)
    }
}

impl<H: House> PullRequests for PlainGit<H> {
    async fn pull(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Pull, PullError> {
        let ledger = Ledger::open(&self.house, repository)?;
        let (far, Entry { record, .. }) = ledger.record(number, &[BRANCHES]).await?;
        Ok(self.seen(repository, &far, record))
    }

    async fn pulls(&self, repository: &RepositoryName) -> Result<Vec<Pull>, PullError> {
        let ledger = Ledger::open(&self.house, repository)?;
        let (far, records) = ledger.records(&[PULLS, BRANCHES]).await?;
        // One that somebody spoiled does not hide the others.
        let readable = records.into_values().rev().filter_map(Result::ok);
        Ok(readable.map(|entry| self.seen(repository, &far, entry.record)).collect())
    }

    async fn diff(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Diff, PullError> {
        Ledger::open(&self.house, repository)?.diff(number).await
    }

    async fn comment(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        comment: &Comment,
    ) -> Result<(), PullError> {
        let add = |record: &mut Record| {
            if record.comments.iter().any(|there| there.name == comment.name) {
                return Ok(Edit::Same);
            }
            record.comments.push(comment.clone());
            Ok(Edit::Changed)
        };
        Ledger::open(&self.house, repository)?.edit(number, add).await
    }

    async fn check(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        check: &Check,
    ) -> Result<(), PullError> {
        let same = |there: &Check| there.name == check.name && there.commit == check.commit;
        let put = |record: &mut Record| match record.checks.iter_mut().find(|there| same(there)) {
            Some(there) if there == check => Ok(Edit::Same),
            Some(there) => {
                there.clone_from(check);
                Ok(Edit::Changed)
            }
            None => {
                record.checks.push(check.clone());
                Ok(Edit::Changed)
            }
        };
        Ledger::open(&self.house, repository)?.edit(number, put).await
    }

    async fn review(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        review: &Review,
    ) -> Result<(), PullError> {
        let add = |record: &mut Record| {
            if record.reviews.iter().any(|there| there.name == review.name) {
                return Ok(Edit::Same);
            }
            let is_person = matches!(review.author, Author::Person(_));
            let approves = is_person && review.opinion == Opinion::Approves;
            if approves && record.state == PullState::Draft {
                record.state = PullState::Open;
            }
            record.reviews.push(review.clone());
            Ok(Edit::Changed)
        };
        Ledger::open(&self.house, repository)?.edit(number, add).await
    }

    async fn merge(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        merge: &Merge,
    ) -> Result<CommitId, PullError> {
        Ledger::open(&self.house, repository)?.merge(number, merge).await
    }

    async fn close(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        by: &Author,
    ) -> Result<(), PullError> {
        let end = |record: &mut Record| match record.state {
            PullState::Closed { .. } => Ok(Edit::Same),
            PullState::Merged { .. } => Err(PullError::Ended { number, how: "merged" }),
            PullState::Draft | PullState::Open => {
                record.state = PullState::Closed { by: by.clone() };
                Ok(Edit::Changed)
            }
        };
        Ledger::open(&self.house, repository)?.edit(number, end).await
    }
}

impl<H: House> PlainGit<H> {
    /// The note on a commit, if there is one.
    pub async fn note_on(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
    ) -> Result<Option<Vec<u8>>, PullError> {
        Ledger::open(&self.house, repository)?.note_on(commit).await
    }

    /// Puts a note on a commit. The same note again changes nothing.
    pub async fn put_note(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        note: &[u8],
    ) -> Result<(), PullError> {
        Ledger::open(&self.house, repository)?.put_note(commit, note).await
    }

    fn seen(&self, repository: &RepositoryName, far: &Far, record: Record) -> Pull {
        let head = far.at(&RefName::branch(&record.branch)).cloned();
        let address = self.house.address(repository, record.number);
        record.pull(address, head)
    }
}
