//! Where records are: in the repository itself, on the other side, one ref for each.
//!
//! ```text
//!  refs/lamp/pulls/7 ──▶ commit ──▶ commit ──▶ commit     each holds pull.json; none is ever replaced
//! ```
//!
//! Two servers that write at once are told apart by git: a ref is changed only from what it was read at. Whoever comes second
//! reads again.

use std::collections::BTreeMap;

use contracts::forge::PullError;
use domain::code::{CommitId, PullRequestNumber, RepositoryName};
use git::{Blobs, Far, GitError, Mirror, PushError, QUICK, Update};

use super::record::{self, Record};
use crate::{
    host::{GitHost, HostError, Identity},
    refs,
    taking::write_commit,
};

/// Somebody gets through each time, so this many others would have to be faster.
pub(super) const ATTEMPTS: usize = 50;

/// The records of one repository.
pub(super) struct Ledger<'h> {
    pub(super) host: &'h GitHost,
    pub(super) repository: &'h RepositoryName,
    pub(super) mirror: Mirror,
}

/// A record, and the commit that holds it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) record: Record,
    pub(super) at: CommitId,
}

/// All that are there, by number; those that somebody spoiled as well.
pub(super) type Records = BTreeMap<PullRequestNumber, Result<Entry, PullError>>;

/// What an edit made of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Changed,
    Same,
}

/// All records, whoever wrote them.
pub(super) const PULLS: &str = "refs/lamp/pulls/*";
/// All branches of agents.
pub(super) const BRANCHES: &str = "refs/heads/agent/*";

impl<'h> Ledger<'h> {
    pub(super) fn open(
        host: &'h GitHost,
        repository: &'h RepositoryName,
    ) -> Result<Self, PullError> {
        let mirror = host.mirror(repository).map_err(trouble)?;
        Ok(Self { host, repository, mirror })
    }

    pub(super) async fn look(&self, patterns: &[&str]) -> Result<Far, PullError> {
        let git = self.host.git();
        git.look(&self.mirror, patterns).await.map_err(far_trouble)
    }

    /// Has refs of the other side here, with all that they need.
    pub(super) async fn bring(&self, names: &[&str]) -> Result<(), PullError> {
        let _alone = self.host.alone(self.repository).await.map_err(trouble)?;
        let git = self.host.git();
        git.bring(&self.mirror, names).await.map_err(far_trouble)
    }

    pub(super) async fn push(&self, updates: &[Update]) -> Result<(), PushError> {
        self.host.git().push(&self.mirror, updates).await
    }

    /// The refs of these patterns, with the records among them, each read or found unreadable. All are of one moment: when one
    /// goes on while it is brought here, we look again.
    pub(super) async fn records(&self, patterns: &[&str]) -> Result<(Far, Records), PullError> {
        for _ in 0..ATTEMPTS {
            let far = self.look(patterns).await?;
            if let Some(records) = self.read(&far).await? {
                return Ok((far, records));
            }
        }
        Err(crowded())
    }

    /// One of them.
    pub(super) async fn record(
        &self,
        number: PullRequestNumber,
        patterns: &[&str],
    ) -> Result<(Far, Entry), PullError> {
        let name = refs::pull(number);
        let all: Vec<&str> = patterns.iter().copied().chain([name.as_str()]).collect();
        let (far, mut records) = self.records(&all).await?;
        let missing = || PullError::NoPull { repository: self.repository.clone(), number };
        let entry = records.remove(&number).ok_or_else(missing)??;
        Ok((far, entry))
    }

    /// Nothing when one of them is not here any more.
    async fn read(&self, far: &Far) -> Result<Option<Records>, PullError> {
        let pulls = refs::pulls(far);
        if pulls.is_empty() {
            return Ok(Some(Records::new()));
        }
        let mut read = self.read_here(&pulls).await?;
        if read.values().any(Option::is_none) {
            self.bring(&[PULLS]).await?;
            read = self.read_here(&pulls).await?;
        }
        let mut records = Records::new();
        for (number, entry) in read {
            let at = pulls.get(&number).map_or("", |at| at.as_str());
            let entry = match entry {
                Some(entry) => entry,
                // What is here and holds no record was written by somebody else.
                None if self
                    .host
                    .git()
                    .has(&self.mirror.path, at)
                    .await
                    .map_err(git_trouble)? =>
                {
                    let reason = "it has no `pull.json`".to_owned();
                    Err(PullError::Unreadable { number, reason })
                }
                None => return Ok(None),
            };
            records.insert(number, entry);
        }
        Ok(Some(records))
    }

    async fn read_here(
        &self,
        pulls: &BTreeMap<PullRequestNumber, &CommitId>,
    ) -> Result<BTreeMap<PullRequestNumber, Option<Result<Entry, PullError>>>, PullError> {
        let mut blobs = self.host.git().blobs(&self.mirror.path, QUICK).map_err(git_trouble)?;
        let mut read = BTreeMap::new();
        for (number, at) in pulls {
            read.insert(*number, read_one(&mut blobs, *number, at).await?);
        }
        Ok(read)
    }

    /// Writes the commit that holds a record, after the one before it. Nobody sees it until its ref is pushed.
    pub(super) async fn write(
        &self,
        record: &Record,
        after: Option<&CommitId>,
    ) -> Result<CommitId, PullError> {
        let (git, path) = (self.host.git(), &self.mirror.path);
        let content = record.write().map_err(record::RecordError::refused)?;
        let blob = git.write_blob(path, &content).await.map_err(git_trouble)?;
        let tree = format!("100644 blob {blob}\tpull.json\n");
        let tree = git.tell("write a record", path, &["mktree"], tree.as_bytes()).await;
        let tree = tree.map_err(git_trouble)?;
        let (who, seconds) = (Identity::platform(), self.seconds());
        let people = [("AUTHOR", &who), ("COMMITTER", &who)];
        let message = format!("Pull request {}\n", record.number);
        let parents: Vec<&CommitId> = after.into_iter().collect();
        let written = write_commit(git, path, &tree, &parents, people, seconds, &message).await;
        written.map_err(git_trouble)
    }

    pub(super) fn seconds(&self) -> i64 {
        (self.host.clock)().as_millis().div_euclid(1_000).max(0)
    }

    /// Changes one record, reading it again whenever somebody was faster.
    pub(super) async fn edit(
        &self,
        number: PullRequestNumber,
        edit: impl Fn(&mut Record) -> Result<Edit, PullError>,
    ) -> Result<(), PullError> {
        let name = refs::pull(number);
        for _ in 0..ATTEMPTS {
            let (_, Entry { mut record, at }) = self.record(number, &[]).await?;
            if edit(&mut record)? == Edit::Same {
                return Ok(());
            }
            let new = self.write(&record, Some(&at)).await?;
            match self.push(&[Update { name: name.clone(), old: Some(at), new }]).await {
                Err(PushError::Stale) => {}
                pushed => return pushed.map_err(far_trouble),
            }
        }
        Err(crowded())
    }
}

/// Nothing when the commit is not here.
async fn read_one(
    blobs: &mut Blobs,
    number: PullRequestNumber,
    at: &CommitId,
) -> Result<Option<Result<Entry, PullError>>, PullError> {
    let unreadable = |reason: String| Some(Err(PullError::Unreadable { number, reason }));
    let content = blobs.file(at, "pull.json", record::LARGEST as u64).await;
    let content = match content {
        Ok(Some(content)) => content,
        Ok(None) => return Ok(None),
        Err(GitError::TooMuch { .. }) => return Ok(unreadable("it is too large".to_owned())),
        Err(error @ (GitError::Strange { .. } | GitError::Failed { .. })) => {
            return Ok(unreadable(error.to_string()));
        }
        Err(error @ (GitError::Io(_) | GitError::OutOfTime | GitError::Killed)) => {
            return Err(git_trouble(error));
        }
    };
    Ok(match Record::read(&content) {
        Ok(record) if record.number == number => Some(Ok(Entry { record, at: at.clone() })),
        Ok(_) => unreadable("it has another number".to_owned()),
        Err(error) => unreadable(error.to_string()),
    })
}

pub(super) fn crowded() -> PullError {
    PullError::Busy { reason: "too many others write at the same time".to_owned() }
}

pub(super) fn trouble(error: HostError) -> PullError {
    match error {
        HostError::NoRepository(repository) => PullError::NoRepository(repository),
        HostError::Busy { reason } => PullError::Busy { reason },
        HostError::Refused { reason } => PullError::Refused { reason },
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn git_trouble(error: GitError) -> PullError {
    PullError::Busy { reason: error.to_string() }
}

pub(super) fn far_trouble(error: PushError) -> PullError {
    match error {
        PushError::Stale => crowded(),
        PushError::Rejected { reason } => PullError::Rejected { reason },
        PushError::Unreachable { reason } => PullError::Busy { reason },
        PushError::Git(error) => git_trouble(error),
    }
}
