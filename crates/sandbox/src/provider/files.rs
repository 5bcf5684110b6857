//! Reads and changes files inside, and connects to ports.

use std::sync::Arc;

use contracts::sandbox::{
    Entry, EntryKind, Exec, FileAsk, Output, SandboxError, Streams, TerminalSize, Transfer, User,
};
use domain::id::SandboxId;
use guest::protocol::{self, Decoder, Ending, FileJob, Job, Kind};
use tokio::sync::mpsc;

use super::{
    Inner,
    exec::{Busy, who},
};
use crate::link::pump;

/// The longest list of entries that is taken.
const MOST_ENTRIES: usize = 100_000;

/// The longest path that the kernel takes.
const LONGEST_NAME: usize = 4_096;

impl Inner {
    pub(super) async fn file(
        self: &Arc<Self>,
        id: SandboxId,
        ask: &FileAsk,
        streams: Streams,
    ) -> Result<Transfer, SandboxError> {
        let (path, user, job) = job(ask);
        let job = Job::File { who: who(user), job };
        match ask {
            FileAsk::Stat { .. } | FileAsk::List { .. } => {
                let (output, collected) = mpsc::channel(4);
                let collecting = entries(collected);
                let streams = Streams { input: streams.input, output };
                let (ended, entries) = tokio::join!(self.run(id, job, streams), collecting);
                Ok(match failed(&path, &ended?) {
                    Some(failed) => failed,
                    None => Transfer::Entries(entries?),
                })
            }
            FileAsk::Read { .. }
            | FileAsk::Write { .. }
            | FileAsk::TarOut { .. }
            | FileAsk::TarIn { .. } => {
                let ended = self.run(id, job, streams).await?;
                Ok(failed(&path, &ended).unwrap_or(Transfer::Done))
            }
        }
    }

    pub(super) async fn forward(
        self: &Arc<Self>,
        id: SandboxId,
        port: u16,
        streams: Streams,
    ) -> Result<(), SandboxError> {
        match self.run(id, Job::Forward { port }, streams).await? {
            Ending::Failed { errno, .. } => {
                let error = std::io::Error::from_raw_os_error(errno);
                Err(SandboxError::Unsupported { reason: format!("port {port}: {error}") })
            }
            Ending::Exited(_) | Ending::Signaled(_) | Ending::TimedOut | Ending::Killed => Ok(()),
        }
    }

    async fn run(
        self: &Arc<Self>,
        id: SandboxId,
        job: Job,
        streams: Streams,
    ) -> Result<Ending, SandboxError> {
        let sandbox = self.get(id)?;
        let _busy = Busy::new(&sandbox, self);
        let body = self.awake(&sandbox).await?;
        let lost = |error: crate::link::LinkError| SandboxError::Lost { reason: error.to_string() };
        let mut channel = body.link.open("", job).map_err(lost)?;
        let ended = pump(&mut channel, streams).await;
        match ended {
            Ok(ended) => {
                let _ = body.link.send(&protocol::Ask::Forget { channel: channel.id() });
                Ok(ended.ending)
            }
            Err(error) => Err(self.broken(&sandbox, &body, error, &nothing()).await),
        }
    }
}

fn nothing() -> Exec {
    Exec {
        argv: Vec::new(),
        environment: std::collections::BTreeMap::new(),
        path: Vec::new(),
        sweeps: false,
        directory: String::new(),
        user: User::Agent,
        terminal: None::<TerminalSize>,
        limit: std::time::Duration::ZERO,
        output_limit: 0,
    }
}

fn job(ask: &FileAsk) -> (String, User, FileJob) {
    let path = |path: &String| path.clone();
    match ask {
        FileAsk::Stat { path: at, user } => (path(at), *user, FileJob::Stat { path: path(at) }),
        FileAsk::List { path: at, user } => (path(at), *user, FileJob::List { path: path(at) }),
        FileAsk::Read { path: at, user } => (path(at), *user, FileJob::Read { path: path(at) }),
        FileAsk::Write { path: at, user, mode } => {
            (path(at), *user, FileJob::Write { path: path(at), mode: *mode })
        }
        FileAsk::TarOut { path: at, user } => (path(at), *user, FileJob::TarOut { path: path(at) }),
        FileAsk::TarIn { path: at, user } => (path(at), *user, FileJob::TarIn { path: path(at) }),
    }
}

fn failed(path: &str, ending: &Ending) -> Option<Transfer> {
    let reason = match ending {
        Ending::Exited(0) => return None,
        Ending::Failed { what, errno } => {
            let error = std::io::Error::from_raw_os_error(*errno);
            if what.is_empty() { error.to_string() } else { format!("{what}: {error}") }
        }
        Ending::Exited(code) => format!("it ended with {code}"),
        Ending::Signaled(signal) => format!("it was ended by signal {signal}"),
        Ending::TimedOut | Ending::Killed => "it was ended".to_owned(),
    };
    Some(Transfer::Failed { path: path.to_owned(), reason })
}

/// Entries as the guest tells them, strictly read.
async fn entries(mut output: mpsc::Receiver<Output>) -> Result<Vec<Entry>, SandboxError> {
    let wrong = |reason: String| SandboxError::Lost { reason };
    let mut decoder = Decoder::default();
    let mut entries = Vec::new();
    while let Some(chunk) = output.recv().await {
        let bytes = match chunk {
            Output::Out(bytes) | Output::Error(bytes) => bytes,
        };
        decoder.push(&bytes);
        while let Some(entry) =
            decoder.next::<protocol::Entry>().map_err(|error| wrong(error.to_string()))?
        {
            if entry.name.len() > LONGEST_NAME {
                return Err(wrong("it told of a name that no file can have".to_owned()));
            }
            if entries.len() >= MOST_ENTRIES {
                return Err(SandboxError::Unsupported {
                    reason: format!("the directory has more than {MOST_ENTRIES} entries"),
                });
            }
            entries.push(told(entry));
        }
    }
    Ok(entries)
}

fn told(entry: protocol::Entry) -> Entry {
    let kind = match entry.kind {
        Kind::File => EntryKind::File,
        Kind::Directory => EntryKind::Directory,
        Kind::Symlink => EntryKind::Symlink,
        Kind::Other => EntryKind::Other,
    };
    Entry {
        name: entry.name,
        kind,
        size: entry.size,
        mode: entry.mode,
        uid: entry.uid,
        modified_seconds: entry.modified_seconds,
    }
}
