//! Small errands inside a sandbox, as the agent: a file in, a file out, a command.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use contracts::sandbox::{
    CommandName, Exec, FileAsk, Finished, HOME, Input, Output, SandboxError, Sandboxes, Streams,
    Transfer, User,
};
use domain::id::SandboxId;
use tokio::sync::mpsc;

/// Bytes that travel at once.
const PIECE: usize = 64 * 1024;

/// Longer than bringing a memory in takes, on a busy host.
const PATIENCE: Duration = Duration::from_mins(2);

/// Why an errand failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Errand {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("`{path}` inside: {reason}")]
    File { path: String, reason: String },
    #[error("`{path}` inside has more than {limit} bytes")]
    TooLarge { path: String, limit: usize },
}

impl Errand {
    /// Whether there is no such file or directory. Sandboxes say so in the system's words.
    pub(crate) fn is_not_there(&self) -> bool {
        matches!(self, Self::File { reason, .. } if reason.contains("No such file"))
    }
}

/// Writes a file for a process, with its directories.
pub(crate) async fn write<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    process: &CommandName,
    path: &str,
    bytes: &[u8],
    mode: u32,
) -> Result<(), Errand> {
    if let Some((directory, _)) = path.rsplit_once('/') {
        make(sandboxes, sandbox, process, directory).await?;
    }
    let ask = FileAsk::Write { path: path.to_owned(), user: User::Agent, mode };
    send(sandboxes, sandbox, &ask, bytes).await
}

/// Makes a directory. For each process anew: a command that is repeated by its name does nothing a second time, and what was there may be gone.
pub(crate) async fn make<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    process: &CommandName,
    directory: &str,
) -> Result<(), Errand> {
    let name = CommandName::new(format!("{process}/mkdir/{directory}"));
    let argv = ["mkdir", "-p", directory].map(str::to_owned).to_vec();
    run(sandboxes, sandbox, &name, argv, 1024).await?;
    Ok(())
}

/// Sends bytes to a file or an archive.
pub(crate) async fn send<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    ask: &FileAsk,
    bytes: &[u8],
) -> Result<(), Errand> {
    let (to, input) = mpsc::channel(4);
    let (output, mut nothing) = mpsc::channel(1);
    let sending = async move {
        for piece in bytes.chunks(PIECE) {
            if to.send(Input::Bytes(piece.to_vec())).await.is_err() {
                return;
            }
        }
        drop(to.send(Input::End).await);
    };
    let ignoring = async { while nothing.recv().await.is_some() {} };
    let transferring = async {
        tokio::join!(sandboxes.file(sandbox, ask, Streams { input, output }), sending, ignoring)
    };
    match tokio::time::timeout(PATIENCE, transferring).await {
        Ok((transfer, (), ())) => done(transfer?),
        Err(_late) => Err(late(ask)),
    }
}

/// Reads a file or an archive of at most `limit` bytes.
pub(crate) async fn fetch<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    ask: &FileAsk,
    limit: usize,
) -> Result<Vec<u8>, Errand> {
    let fetching = fetch_in_time(sandboxes, sandbox, ask, limit);
    tokio::time::timeout(PATIENCE, fetching).await.unwrap_or_else(|_late| Err(late(ask)))
}

/// Whoever is inside can hold up what works there with the same rights.
fn late(ask: &FileAsk) -> Errand {
    Errand::File { path: path(ask), reason: "it took too long".to_owned() }
}

fn path(ask: &FileAsk) -> String {
    match ask {
        FileAsk::Stat { path, .. }
        | FileAsk::List { path, .. }
        | FileAsk::Read { path, .. }
        | FileAsk::Write { path, .. }
        | FileAsk::TarOut { path, .. }
        | FileAsk::TarIn { path, .. } => path.clone(),
    }
}

async fn fetch_in_time<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    ask: &FileAsk,
    limit: usize,
) -> Result<Vec<u8>, Errand> {
    let (_to, input) = mpsc::channel(1);
    let (output, mut pieces) = mpsc::channel(4);
    let reading = async {
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.recv().await {
            let (Output::Out(piece) | Output::Error(piece)) = piece;
            if bytes.len() + piece.len() > limit {
                return None;
            }
            bytes.extend_from_slice(&piece);
        }
        Some(bytes)
    };
    let mut transferring = pin!(sandboxes.file(sandbox, ask, Streams { input, output }));
    let mut reading = pin!(reading);
    let mut transfer = None;
    // Some files have no end. Whoever has read too much leaves, and does not wait for it.
    let bytes = loop {
        tokio::select! {
            biased;
            read = &mut reading => break read,
            done = &mut transferring, if transfer.is_none() => transfer = Some(done),
        }
    };
    let bytes = bytes.ok_or_else(|| Errand::TooLarge { path: path(ask), limit })?;
    let transfer = match transfer {
        Some(transfer) => transfer,
        None => transferring.await,
    };
    done(transfer?)?;
    Ok(bytes)
}

fn done(transfer: Transfer) -> Result<(), Errand> {
    match transfer {
        Transfer::Done | Transfer::Entries(_) => Ok(()),
        Transfer::Failed { path, reason } => Err(Errand::File { path, reason }),
    }
}

/// Runs a command to its end, and gives what it said, of which `limit` bytes are kept.
pub(crate) async fn run<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    name: &CommandName,
    argv: Vec<String>,
    limit: usize,
) -> Result<(Finished, String), SandboxError> {
    let command = Exec {
        argv,
        environment: environment(),
        path: Vec::new(),
        sweeps: false,
        directory: HOME.to_owned(),
        user: User::Agent,
        terminal: None,
        limit: Duration::from_mins(1),
        output_limit: limit as u64,
    };
    exec(sandboxes, sandbox, name, &command).await
}

/// Runs a command with nothing at its input, and gives what it said.
pub(crate) async fn exec<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    name: &CommandName,
    command: &Exec,
) -> Result<(Finished, String), SandboxError> {
    let (to, input) = mpsc::channel(1);
    drop(to);
    let (output, mut pieces) = mpsc::channel(4);
    let reading = async move {
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.recv().await {
            let (Output::Out(piece) | Output::Error(piece)) = piece;
            bytes.extend_from_slice(&piece);
        }
        bytes
    };
    let running = sandboxes.exec(sandbox, name, command, Streams { input, output });
    let (finished, bytes) = tokio::join!(running, reading);
    Ok((finished?, String::from_utf8_lossy(&bytes).into_owned()))
}

/// What every program of an agent finds, whatever the image says.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let usual = [("HOME", HOME), ("USER", "lamp"), ("TERM", "dumb")];
    usual.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
