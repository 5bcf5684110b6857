//! What the repositories in a sandbox say about themselves, read from inside.
//!
//! Everything runs and is read as the agent: whatever a link leads to, an agent could have read as well. What comes back is not
//! trusted: it has a limit, and what is no text is made one. A repository without git, or one that is not there, has nothing to say.
//!
//! **Invariant:** where a change is reviewed or gone on with, nothing of its checkout becomes a note. Whoever made the change could have
//! written there what its reviewer is to think, or what its next run is to do.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use contracts::sandbox::{
    CommandName, Ended, Exec, FileAsk, Output, SandboxError, Sandboxes, Streams, Transfer, User,
    WORKSPACE,
};
use domain::{code::CommitId, id::SandboxId};
use tokio::{sync::mpsc, time::timeout};

use super::{Instruction, RepositoryFacts, is_visible, visible};

/// Commits of each repository.
const COMMITS: usize = 20;

pub(super) const LOG: &[&str] = &[
    "git",
    "--no-pager",
    "log",
    "-n",
    "20",
    "--no-color",
    "--no-show-signature",
    "--format=%h %as %an: %s",
];

/// Those that are a part of the repository.
pub(super) const NAMES: &[&str] =
    &["git", "ls-files", "-z", "--", ":(glob)**/AGENTS.md", ":(glob)**/CLAUDE.md"];

/// Those that a commit has, except links. They cannot be listed by a pattern, but they can be searched, and every line is found.
#[rustfmt::skip]
pub(super) const NAMES_AT: &[&str] = &["git", "grep", "--no-color", "--full-name", "-z", "-l", "-e", ""];

/// Those that differ between a commit and the one that is checked out.
pub(super) const TOUCHED_SINCE: &[&str] =
    &["git", "diff-tree", "-r", "-z", "--name-only", "--no-renames"];

/// Where notes can be.
pub(super) const NOTES: &[&str] = &["--", ":(glob)**/AGENTS.md", ":(glob)**/CLAUDE.md"];

/// Those that lie around, except in what was installed.
#[rustfmt::skip]
pub(super) const FIND: &[&str] = &[
    "find", ".", "-maxdepth", "6",
    "(", "-name", ".git", "-o", "-name", "node_modules", ")", "-prune", "-o",
    "(", "-name", "AGENTS.md", "-o", "-name", "CLAUDE.md", ")", "-type", "f", "-print0",
];

/// Files of notes that are read, in each repository, and bytes of each. One more than will be told, so that it is known to be cut.
const FILES: usize = 50;
const FILE_BYTES: usize = 64 * 1024;

/// Bytes of what a command says.
const OUTPUT: usize = 256 * 1024;

/// A command or a file that takes longer has nothing to say: it may be a pipe that nobody writes to.
const PATIENCE: Duration = Duration::from_secs(10);

/// A repository to look at.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// A path inside, or a name in the workspace.
    pub directory: &'a str,
    pub notes: Notes<'a>,
}

/// Which of a repository's notes are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notes<'a> {
    /// Those of the checkout.
    CheckedOut,
    /// Those of a commit. The checkout is at a change that was made since.
    Before(&'a CommitId),
    /// None: nobody knows what of the checkout is the change.
    Untold,
}

/// What is found in each of `places`.
///
/// `prefix` is put before the names of commands, and must be another one for each call: a repeated command is not run again.
pub async fn gather<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    places: &[Place<'_>],
    prefix: &str,
) -> Result<Vec<RepositoryFacts>, SandboxError> {
    gather_within(PATIENCE, sandboxes, sandbox, places, prefix).await
}

pub(super) async fn gather_within<S: Sandboxes>(
    patience: Duration,
    sandboxes: &S,
    sandbox: SandboxId,
    places: &[Place<'_>],
    prefix: &str,
) -> Result<Vec<RepositoryFacts>, SandboxError> {
    let mut facts = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let inside = Inside {
            patience,
            sandboxes,
            sandbox,
            prefix: format!("{prefix}-{at}"),
            directory: absolute(place.directory),
        };
        facts.push(inside.facts(place.notes).await?);
    }
    Ok(facts)
}

fn absolute(directory: &str) -> String {
    if directory.starts_with('/') {
        return directory.to_owned();
    }
    format!("{WORKSPACE}/{directory}")
}

/// What came of reading a file.
enum Found {
    Text(String),
    Nothing,
    Silence,
}

/// What was said, as far as it was listened to.
enum Heard {
    All(Vec<u8>),
    /// There was more.
    Beginning(Vec<u8>),
}

struct Inside<'a, S> {
    patience: Duration,
    sandboxes: &'a S,
    sandbox: SandboxId,
    prefix: String,
    directory: String,
}

impl<S: Sandboxes> Inside<'_, S> {
    async fn facts(&self, notes: Notes<'_>) -> Result<RepositoryFacts, SandboxError> {
        let name = self.directory.rsplit('/').next().unwrap_or_default();
        let facts = RepositoryFacts {
            name: name.to_owned(),
            directory: self.directory.clone(),
            commits: self.commits().await?,
            ..RepositoryFacts::default()
        };
        match notes {
            Notes::CheckedOut => {
                let instructions = self.checked_out().await?;
                Ok(RepositoryFacts { instructions, ..facts })
            }
            Notes::Before(base) => {
                let (instructions, touched) = self.before(base).await?;
                Ok(RepositoryFacts { instructions, touched, base: Some(base.clone()), ..facts })
            }
            Notes::Untold => Ok(facts),
        }
    }

    async fn checked_out(&self) -> Result<Vec<Instruction>, SandboxError> {
        let mut instructions = Vec::new();
        for path in self.names().await?.into_iter().take(FILES) {
            match self.read(&path).await? {
                Found::Text(text) => instructions.push(Instruction { path, text }),
                Found::Nothing => {}
                // Whoever laid out one that never answers may have laid out fifty.
                Found::Silence => break,
            }
        }
        Ok(instructions)
    }

    /// The notes of a commit, and the paths of those that were touched since. What git cannot tell is not looked for in the checkout.
    async fn before(
        &self,
        base: &CommitId,
    ) -> Result<(Vec<Instruction>, Vec<String>), SandboxError> {
        let base = base.as_str();
        let touched = [TOUCHED_SINCE, &[base, "HEAD"], NOTES].concat();
        let touched = paths(&self.run("touched", &touched, OUTPUT).await?.unwrap_or_default());
        let names = [NAMES_AT, &[base], NOTES].concat();
        let names = self.run("names-before", &names, OUTPUT).await?.unwrap_or_default();
        let mut instructions = Vec::new();
        for (number, path) in paths_at(base, &names).into_iter().take(FILES).enumerate() {
            let object = format!("{base}:{path}");
            let show = ["git", "cat-file", "blob", &object];
            let said = self.run(&format!("note-{number}"), &show, FILE_BYTES).await?;
            let Some(said) = said else { continue };
            let text = visible(&String::from_utf8_lossy(&said));
            instructions.push(Instruction { path, text });
        }
        Ok((instructions, touched))
    }

    async fn commits(&self) -> Result<Vec<String>, SandboxError> {
        let said = self.run("log", LOG, OUTPUT).await?.unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines = said.lines().map(visible).filter(|line| !line.trim().is_empty());
        Ok(lines.take(COMMITS).collect())
    }

    /// Where notes are. What git knows, or else what is there.
    async fn names(&self) -> Result<Vec<String>, SandboxError> {
        if let Some(said) = self.run("names", NAMES, OUTPUT).await? {
            return Ok(paths(&said));
        }
        Ok(paths(&self.run("find", FIND, OUTPUT).await?.unwrap_or_default()))
    }

    /// The first `limit` bytes of what a command says, if it ends well.
    async fn run(
        &self,
        what: &str,
        argv: &[&str],
        limit: usize,
    ) -> Result<Option<Vec<u8>>, SandboxError> {
        let command = Exec {
            argv: argv.iter().map(|&it| it.to_owned()).collect(),
            environment: BTreeMap::from([
                // An object that stands for another is no word of the repository's.
                ("GIT_NO_REPLACE_OBJECTS".to_owned(), "1".to_owned()),
                ("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned()),
                ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
                ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
            ]),
            path: Vec::new(),
            sweeps: false,
            directory: self.directory.clone(),
            user: User::Agent,
            terminal: None,
            limit: self.patience,
            output_limit: limit as u64,
        };
        let name = CommandName::new(format!("{}-{what}", self.prefix));
        let (streams, heard) = streams();
        let running = self.sandboxes.exec(self.sandbox, &name, &command, streams);
        let (finished, said) = tokio::join!(running, hear(heard, limit));
        match finished {
            Ok(finished) if finished.ending == Ended::Exited(0) => Ok(Some(said.into_bytes())),
            Ok(_failed) => Ok(None),
            Err(SandboxError::ProgramMissing { .. } | SandboxError::Directory { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A file's text, or its beginning.
    async fn read(&self, path: &str) -> Result<Found, SandboxError> {
        let path = format!("{}/{path}", self.directory);
        let ask = FileAsk::Read { path, user: User::Agent };
        let (streams, heard) = streams();
        let mut moving = pin!(self.sandboxes.file(self.sandbox, &ask, streams));
        let mut hearing = pin!(hear(heard, FILE_BYTES));
        let reading = async {
            tokio::select! {
                moved = &mut moving => Ok((moved?, hearing.await)),
                heard = &mut hearing => match heard {
                    Heard::All(_) => Ok((moving.await?, heard)),
                    // It may have no end, so its end is not waited for.
                    Heard::Beginning(_) => Ok((Transfer::Done, heard)),
                },
            }
        };
        match timeout(self.patience, reading).await {
            Err(_elapsed) => Ok(Found::Silence),
            Ok(Err(error)) => Err(error),
            Ok(Ok((Transfer::Done, heard))) => {
                let text = String::from_utf8_lossy(&heard.into_bytes()).into_owned();
                Ok(Found::Text(visible(&text)))
            }
            Ok(Ok((Transfer::Failed { .. } | Transfer::Entries(_), _))) => Ok(Found::Nothing),
        }
    }
}

impl Heard {
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::All(bytes) | Self::Beginning(bytes) => bytes,
        }
    }
}

/// Pipes to something that is told nothing.
fn streams() -> (Streams, mpsc::Receiver<Output>) {
    let (_nothing, input) = mpsc::channel(1);
    let (output, heard) = mpsc::channel(16);
    (Streams { input, output }, heard)
}

async fn hear(mut pipe: mpsc::Receiver<Output>, limit: usize) -> Heard {
    let mut bytes = Vec::new();
    while let Some(output) = pipe.recv().await {
        let piece = match output {
            Output::Out(piece) => piece,
            Output::Error(_) => continue,
        };
        let room = limit - bytes.len();
        bytes.extend(piece.iter().take(room));
        if piece.len() > room {
            return Heard::Beginning(bytes);
        }
    }
    Heard::All(bytes)
}

/// The paths of a commit's files, as `NAMES_AT` says them.
pub(super) fn paths_at(commit: &str, said: &[u8]) -> Vec<String> {
    let own = |path: String| path.strip_prefix(commit)?.strip_prefix(':').map(str::to_owned);
    paths(said).into_iter().filter_map(own).collect()
}

/// The paths between zeros, the nearest to the root first. Names that cannot be shown are not read.
pub(super) fn paths(said: &[u8]) -> Vec<String> {
    let plain = |path: &&str| {
        !path.is_empty() && path.chars().all(|it| is_visible(it) && it != '\n' && it != '\t')
    };
    // What follows the last zero was cut.
    let end = said.iter().rposition(|byte| *byte == 0).unwrap_or_default();
    let mut paths: Vec<String> = said
        .get(..end)
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .filter_map(|path| str::from_utf8(path).ok())
        .map(|path| path.strip_prefix("./").unwrap_or(path))
        .filter(plain)
        .map(str::to_owned)
        .collect();
    paths.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    paths
}
