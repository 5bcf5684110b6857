//! What the repositories in a sandbox say about themselves, read from inside.
//!
//! Everything runs and is read as the agent: whatever a link leads to, an agent could have read as well. What comes back is not
//! trusted: it has a limit, and what is no text is made one. A repository without git, or one that is not there, has nothing to say.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use contracts::sandbox::{
    CommandName, Ended, Exec, FileAsk, Output, SandboxError, Sandboxes, Streams, Transfer, User,
    WORKSPACE,
};
use domain::id::SandboxId;
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

/// What is found in each of `directories`, which are paths inside, or names in the workspace.
///
/// `prefix` is put before the names of commands, and must be another one for each call: a repeated command is not run again.
pub async fn gather<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    directories: &[String],
    prefix: &str,
) -> Result<Vec<RepositoryFacts>, SandboxError> {
    gather_within(PATIENCE, sandboxes, sandbox, directories, prefix).await
}

pub(super) async fn gather_within<S: Sandboxes>(
    patience: Duration,
    sandboxes: &S,
    sandbox: SandboxId,
    directories: &[String],
    prefix: &str,
) -> Result<Vec<RepositoryFacts>, SandboxError> {
    let mut facts = Vec::new();
    for (at, directory) in directories.iter().enumerate() {
        let inside = Inside {
            patience,
            sandboxes,
            sandbox,
            prefix: format!("{prefix}-{at}"),
            directory: absolute(directory),
        };
        facts.push(inside.facts().await?);
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
    async fn facts(&self) -> Result<RepositoryFacts, SandboxError> {
        let mut instructions = Vec::new();
        for path in self.names().await?.into_iter().take(FILES) {
            match self.read(&path).await? {
                Found::Text(text) => instructions.push(Instruction { path, text }),
                Found::Nothing => {}
                // Whoever laid out one that never answers may have laid out fifty.
                Found::Silence => break,
            }
        }
        let name = self.directory.rsplit('/').next().unwrap_or_default();
        Ok(RepositoryFacts {
            name: name.to_owned(),
            directory: self.directory.clone(),
            instructions,
            commits: self.commits().await?,
        })
    }

    async fn commits(&self) -> Result<Vec<String>, SandboxError> {
        let said = self.run("log", LOG).await?.unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines = said.lines().map(visible).filter(|line| !line.trim().is_empty());
        Ok(lines.take(COMMITS).collect())
    }

    /// Where notes are. What git knows, or else what is there.
    async fn names(&self) -> Result<Vec<String>, SandboxError> {
        if let Some(said) = self.run("names", NAMES).await? {
            return Ok(paths(&said));
        }
        Ok(paths(&self.run("find", FIND).await?.unwrap_or_default()))
    }

    /// What a command says, if it ends well.
    async fn run(&self, what: &str, argv: &[&str]) -> Result<Option<Vec<u8>>, SandboxError> {
        let command = Exec {
            argv: argv.iter().map(|&it| it.to_owned()).collect(),
            environment: BTreeMap::from([
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
            output_limit: OUTPUT as u64,
        };
        let name = CommandName::new(format!("{}-{what}", self.prefix));
        let (streams, heard) = streams();
        let running = self.sandboxes.exec(self.sandbox, &name, &command, streams);
        let (finished, said) = tokio::join!(running, hear(heard, OUTPUT));
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
