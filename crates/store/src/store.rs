//! The door: everything that can be asked of the store.

use std::{collections::HashSet, path::Path, time::Duration};

use domain::{
    digest::Digest,
    id::TaskId,
    queue::{Places, Position},
    time::Timestamp,
};

use crate::{
    Append, Appended, AuditEntry, AuditFault, AuditLink, BackupError, BlobError, Blobs, Briefing,
    Collected, DataDirectory, Filter, History, Lease, OpenError, OpenOptions, Page, Pending,
    Recorded, Renewal, Said, Saying, StoreError, Subscription, TaskView, Verified, audit, backup,
    changes::Changes,
    database::{Database, Operation},
    operations,
    queries::{history, queue, tasks, transcript as transcripts},
};

/// Events of a transcript that share a transaction.
const TRANSCRIPT_BATCH: usize = 256;

#[derive(Debug)]
pub struct Store {
    database: Database,
    blobs: Blobs,
    changes: Changes,
    transcript_limit: u64,
}

/// Opens the database at `url` (`sqlite:PATH` or `postgres://…`), brings its tables to this version,
/// and keeps blobs in `place`.
pub async fn open(url: &str, place: &DataDirectory) -> Result<Store, OpenError> {
    open_with(url, place, OpenOptions::default()).await
}

/// The same, for those with other expectations.
pub async fn open_with(
    url: &str,
    place: &DataDirectory,
    options: OpenOptions,
) -> Result<Store, OpenError> {
    let directory = |source| OpenError::Directory { path: place.directory().to_owned(), source };
    place.make().map_err(directory)?;
    let blobs = Blobs::open(&place.blobs()).map_err(directory)?;
    let changes = Changes::new();
    let database = Database::open(url, options, changes.clone()).await?;
    Ok(Store { database, blobs, changes, transcript_limit: options.transcript_limit })
}

impl Store {
    /// Appends events, with everything that follows from them, or nothing.
    pub async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.write(append).await
    }

    /// Gives free places to those who are next. Returns who got one.
    pub async fn give_places(
        &self,
        places: Places,
        at: Timestamp,
    ) -> Result<Vec<TaskId>, StoreError> {
        let admitted = self.write(operations::admit::Admit { places, at }).await?;
        Ok(admitted.into_iter().map(|(task, _)| task).collect())
    }

    /// Claims at most `most` steps that are due, until `until`.
    pub async fn claim(
        &self,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
        most: u32,
    ) -> Result<Vec<Lease>, StoreError> {
        let holder = holder.to_owned();
        self.write(operations::claim::Claim { holder, now, until, most }).await
    }

    /// Keeps leases until `until`; tells of each whether it is still held.
    pub async fn renew(
        &self,
        leases: Vec<Lease>,
        until: Timestamp,
    ) -> Result<Vec<Renewal>, StoreError> {
        self.write(operations::lease::Renew { leases, until }).await
    }

    /// Lets go of everything that `holder` held in an earlier life. Returns how much that was.
    pub async fn let_go(&self, holder: &str) -> Result<u64, StoreError> {
        self.write(operations::lease::LetGo { holder: holder.to_owned() }).await
    }

    /// A step is done, and nothing needs to be written about it.
    pub async fn finish(&self, lease: Lease) -> Result<(), StoreError> {
        self.write(operations::lease::Finish { lease }).await
    }

    /// A step that was told to stop has stopped. Does nothing to a step that is still wanted.
    pub async fn abandon(&self, lease: Lease) -> Result<(), StoreError> {
        self.write(operations::lease::Abandon { lease }).await
    }

    /// Gives a step to whoever comes next, as if it had not been begun.
    pub async fn hand_over(&self, lease: Lease) -> Result<(), StoreError> {
        self.write(operations::lease::HandOver { lease }).await
    }

    /// A step did not work out: anyone may try again from `due_at`.
    pub async fn put_back(
        &self,
        lease: Lease,
        due_at: Timestamp,
        why: String,
    ) -> Result<(), StoreError> {
        self.write(operations::lease::PutBack { lease, due_at, why }).await
    }

    pub async fn history(&self, task: TaskId) -> Result<History, StoreError> {
        let events = self.events_after(task, 0, i64::MAX).await?;
        Ok(History { events })
    }

    /// At most `most` events after number `seq`.
    pub async fn events_after(
        &self,
        task: TaskId,
        seq: u64,
        most: i64,
    ) -> Result<Vec<Recorded>, StoreError> {
        history::read_after(&self.database, task, seq, most).await
    }

    /// Adds what an agent said and did to its task's transcript; returns the number of the newest event.
    ///
    /// The same call again, after an answer that got lost, adds nothing. What is too long is shortened, what is beyond the
    /// task's limit is left out. A large call is several transactions; one that fails leaves what came before it.
    pub async fn append_transcript(&self, saying: Saying) -> Result<u64, StoreError> {
        let Saying { task, run, speaker, mut before, events } = saying;
        let mut rest = events.into_iter();
        loop {
            let events: Vec<_> = rest.by_ref().take(TRANSCRIPT_BATCH).collect();
            let count = events.len() as u64;
            let saying = Saying { task, run, speaker, before, events };
            let tell = operations::transcript::Tell::new(saying, self.transcript_limit);
            let newest = self.write(tell).await?.number();
            if rest.len() == 0 {
                return Ok(newest);
            }
            before += count;
        }
    }

    /// At most `most` events (1000 at most) of the task's transcript, after number `cursor`.
    pub async fn transcript_after(
        &self,
        task: TaskId,
        cursor: u64,
        most: i64,
    ) -> Result<Vec<Said>, StoreError> {
        transcripts::read_after(&self.database, task, cursor, most).await
    }

    /// The hash of all that was said in a task, as it is kept.
    pub async fn transcript_digest(&self, task: TaskId) -> Result<Digest, StoreError> {
        transcripts::digest(&self.database, task).await
    }

    /// The newest `most` events (1000 at most) of the task's transcript, oldest first.
    pub async fn transcript_end(&self, task: TaskId, most: i64) -> Result<Vec<Said>, StoreError> {
        transcripts::read_last(&self.database, task, most).await
    }

    /// At most `most` events (1000 at most) of one run of the task, after number `cursor`.
    pub async fn run_after(
        &self,
        (task, run): (TaskId, u64),
        cursor: u64,
        most: i64,
    ) -> Result<Vec<Said>, StoreError> {
        transcripts::read_run_after(&self.database, (task, run), cursor, most).await
    }

    /// The newest `most` events (1000 at most) of one run of the task, oldest first.
    pub async fn run_end(
        &self,
        (task, run): (TaskId, u64),
        most: i64,
    ) -> Result<Vec<Said>, StoreError> {
        transcripts::read_last_of_run(&self.database, (task, run), most).await
    }

    /// What the newest attempt at a run of `task` was told.
    pub async fn briefing(&self, task: TaskId) -> Result<Option<Briefing>, StoreError> {
        transcripts::briefing(&self.database, task).await
    }

    pub async fn task(&self, task: TaskId) -> Result<Option<TaskView>, StoreError> {
        tasks::one(&self.database, task).await
    }

    pub async fn tasks(&self, filter: &Filter, page: Page) -> Result<Vec<TaskView>, StoreError> {
        tasks::list(&self.database, filter, page).await
    }

    /// Plans that wait for a decision, those that wait longest first.
    pub async fn inbox(&self, page: Page) -> Result<Vec<TaskView>, StoreError> {
        tasks::inbox(&self.database, page).await
    }

    /// The first `most` places of the queue (500 at most), each with the reason for waiting.
    pub async fn queue(&self, places: Places, most: usize) -> Result<Vec<Position>, StoreError> {
        queue::positions(&self.database, places, most).await
    }

    /// What is still to be done for `task`.
    pub async fn pending(&self, task: TaskId) -> Result<Vec<Pending>, StoreError> {
        queue::pending(&self.database, task).await
    }

    /// When the next step can be claimed: it is due then, or its lease has run out.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        queue::next_due(&self.database).await
    }

    /// Hears of every event from now on.
    pub fn subscribe(&self) -> Subscription {
        self.changes.subscribe()
    }

    /// Hears of every event and of every transcript that grows.
    pub fn subscribe_to_all(&self) -> Subscription {
        self.changes.subscribe_to_all()
    }

    pub const fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Removes blobs that no event speaks of and that are older than `grace`.
    pub async fn collect_blobs(&self, grace: Duration) -> Result<Collected, BlobError> {
        let sql = "SELECT DISTINCT digest FROM blob_uses";
        let rows = self.database.rows(sql, &[]).await.map_err(std::io::Error::other)?;
        let spoken_of = rows
            .iter()
            .map(|row| row.parsed::<Digest>("digest"))
            .collect::<Result<HashSet<_>, _>>()
            .map_err(std::io::Error::other)?;
        Ok(self.blobs.collect(grace, |digest| spoken_of.contains(&digest))?)
    }

    /// Remembers something that changed no task.
    pub async fn audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        self.write(operations::audit::Note(entry)).await
    }

    /// Rows of the audit log after `position`, oldest first, a page at a time.
    pub async fn audit_log(&self, position: i64) -> Result<Vec<AuditLink>, StoreError> {
        audit::page(&self.database, position).await
    }

    /// Walks the whole audit log and checks its chain.
    pub async fn verify_audit(&self) -> Result<Verified, AuditFault> {
        audit::verify(&self.database).await
    }

    /// Writes a copy of everything into the new directory `to`.
    pub async fn back_up(&self, to: &Path) -> Result<(), BackupError> {
        backup::write(&self.database, self.blobs.directory(), to).await
    }

    /// Waits for what is being written, and lets go of the database.
    pub async fn close(&self) {
        self.database.close().await;
    }

    async fn write<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        self.database.write(operation).await
    }
}
