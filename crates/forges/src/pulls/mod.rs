//! Pull requests on a repository without a forge.
//!
//! A pull request is a record in the repository itself ([`record`]), below a ref of its own that only ever grows. Any remote that
//! git can push to can keep it; a clone can have it; no server of ours has to be there for it to be read.

mod by_hand;
mod checkout;
mod deliver;
mod diff;
mod ledger;
mod merge;
mod notes;
pub mod record;
mod revert;
mod seal;

use contracts::{
    Key,
    forge::{
        Author, Blamed, Change, Check, Comment, Comparison, Delivery, Diff, Files, ForgeError,
        Forges, Merge, Opinion, Pull, PullError, PullRequest, PullRequests, PullState, Revert,
        Review, Taking,
    },
    sandbox::Sandboxes,
};
use domain::code::{CommitId, PullRequestNumber, RepositoryName};
use git::{Far, RefName};
use ledger::{BRANCHES, Edit, Entry, Ledger, PULLS, trouble};
pub use notes::LARGEST_NOTE;
use notes::Shelf;
use record::Record;

use crate::{host::address, plain::PlainGit, reading};

impl<S: Sandboxes> Forges for PlainGit<S> {
    async fn head(&self, repository: &RepositoryName) -> Result<CommitId, ForgeError> {
        let mirror = self.host.mirror(repository).map_err(trouble)?;
        self.host.fetch(repository).await.map_err(trouble)?;
        let head = ["rev-parse", "--verify", "--end-of-options", "HEAD^{commit}"];
        let asked = self.host.git().ask("find the newest commit", &mirror.path, &head).await;
        let asked = asked.map_err(|error| ForgeError::Rejected { reason: error.to_string() })?;
        asked
            .parse()
            .map_err(|_wrong| ForgeError::Rejected { reason: "it has no commit".to_owned() })
    }

    async fn base(&self, repository: &RepositoryName) -> Result<String, ForgeError> {
        let ledger = Ledger::open(&self.host, repository)?;
        Ok(deliver::default_of(&ledger.look(&[]).await?)?)
    }

    async fn take_change(&self, key: Key, taking: &Taking) -> Result<Change, ForgeError> {
        Ok(self.take(key, taking).await?)
    }

    async fn files(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        wanted: fn(&str) -> bool,
    ) -> Result<Files, ForgeError> {
        reading::files(&self.host, repository, commit, wanted).await
    }

    async fn compare(
        &self,
        repository: &RepositoryName,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<Comparison, ForgeError> {
        reading::compare(&self.host, repository, base, head).await
    }

    async fn blame(
        &self,
        repository: &RepositoryName,
        path: &str,
        line: u32,
    ) -> Result<Blamed, ForgeError> {
        self.blamed(repository, path, line).await
    }

    async fn note_on(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
    ) -> Result<Option<Vec<u8>>, ForgeError> {
        Ok(Ledger::open(&self.host, repository)?.kept(Shelf::Notes, commit).await?)
    }

    async fn note(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        note: &[u8],
    ) -> Result<(), ForgeError> {
        Ok(Ledger::open(&self.host, repository)?.keep(Shelf::Notes, commit, note).await?)
    }

    async fn keep_receipt(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        envelope: &[u8],
    ) -> Result<(), ForgeError> {
        Ok(Ledger::open(&self.host, repository)?.keep(Shelf::Receipts, commit, envelope).await?)
    }

    async fn deliver(&self, _key: Key, delivery: &Delivery) -> Result<PullRequest, ForgeError> {
        let ledger = Ledger::open(&self.host, &delivery.repository)?;
        Ok(ledger.deliver(delivery).await?)
    }
}

impl<S: Sandboxes> PullRequests for PlainGit<S> {
    async fn pull(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Pull, PullError> {
        let ledger = Ledger::open(&self.host, repository)?;
        let (far, Entry { record, .. }) = ledger.record(number, &[BRANCHES]).await?;
        let bases = ledger.bases(std::iter::once(&record)).await?;
        let record = ledger.noticed(bases.as_ref(), ledger.believed(record)).await?;
        Ok(seen(repository, &far, record))
    }

    async fn pulls(&self, repository: &RepositoryName) -> Result<Vec<Pull>, PullError> {
        let ledger = Ledger::open(&self.host, repository)?;
        let (far, records) = ledger.records(&[PULLS, BRANCHES]).await?;
        // One that somebody spoiled does not hide the others.
        let readable = records.into_values().rev().filter_map(Result::ok);
        let records: Vec<Record> = readable.map(|entry| entry.record).collect();
        let bases = ledger.bases(records.iter()).await?;
        let mut pulls = Vec::with_capacity(records.len());
        for record in records {
            let record = ledger.noticed(bases.as_ref(), ledger.believed(record)).await?;
            pulls.push(seen(repository, &far, record));
        }
        Ok(pulls)
    }

    async fn diff(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Diff, PullError> {
        Ledger::open(&self.host, repository)?.diff(number).await
    }

    async fn comment(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        comment: &Comment,
    ) -> Result<(), PullError> {
        let ledger = Ledger::open(&self.host, repository)?;
        let add = |record: &mut Record| {
            if record.comments.iter().any(|there| there.said.name == comment.name) {
                return Ok(Edit::Same);
            }
            record.comments.push(ledger.sealed_comment(number, comment));
            Ok(Edit::Changed)
        };
        ledger.edit(number, add).await
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
        Ledger::open(&self.host, repository)?.edit(number, put).await
    }

    async fn review(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        review: &Review,
    ) -> Result<(), PullError> {
        let ledger = Ledger::open(&self.host, repository)?;
        let add = |record: &mut Record| {
            if record.reviews.iter().any(|there| there.said.name == review.name) {
                return Ok(Edit::Same);
            }
            let is_person = matches!(review.author, Author::Person(_));
            let approves = is_person && review.opinion == Opinion::Approves;
            if approves && record.state == PullState::Draft {
                record.state = PullState::Open;
            }
            record.reviews.push(ledger.sealed_review(number, review));
            Ok(Edit::Changed)
        };
        ledger.edit(number, add).await
    }

    async fn is_in(
        &self,
        repository: &RepositoryName,
        base: &str,
        commit: &CommitId,
    ) -> Result<bool, PullError> {
        Ledger::open(&self.host, repository)?.is_in(base, std::slice::from_ref(commit)).await
    }

    async fn merge(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        merge: &Merge,
    ) -> Result<CommitId, PullError> {
        Ledger::open(&self.host, repository)?.merge(number, merge).await
    }

    async fn revert(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        revert: &Revert,
    ) -> Result<PullRequest, PullError> {
        Ledger::open(&self.host, repository)?.revert(number, revert).await
    }

    async fn close(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        by: &Author,
    ) -> Result<(), PullError> {
        let ledger = Ledger::open(&self.host, repository)?;
        let end = |record: &mut Record| match record.state {
            PullState::Closed { .. } => Ok(Edit::Same),
            PullState::Merged { .. } => Err(PullError::Ended { number, how: "merged" }),
            PullState::Draft | PullState::Open => {
                record.state = PullState::Closed { by: by.clone() };
                ledger.seal_state(record);
                Ok(Edit::Changed)
            }
        };
        ledger.edit(number, end).await
    }
}

impl<S: Sandboxes> PlainGit<S> {
    /// The signed receipt of a commit, if there is one. Anybody who may push can have written it.
    pub async fn receipt_of(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
    ) -> Result<Option<Vec<u8>>, PullError> {
        Ledger::open(&self.host, repository)?.kept(Shelf::Receipts, commit).await
    }
}

fn seen(repository: &RepositoryName, far: &Far, record: Record) -> Pull {
    let head = far.at(&RefName::branch(&record.branch)).cloned();
    let address = address(repository, record.number);
    record.pull(address, head)
}
