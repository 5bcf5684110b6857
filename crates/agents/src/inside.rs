//! Small errands inside a sandbox, as the agent: a file in, a file out, a command.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use contracts::sandbox::{
    CommandName, Exec, FileAsk, Finished, Input, Output, SandboxError, Sandboxes, Streams,
    Transfer, User,
};
use domain::id::SandboxId;
use tokio::sync::mpsc;

use crate::program::HOME;

/// Bytes that travel at once.
const PIECE: usize = 64 * 1024;

/// Programs that every image has.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

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

/// Writes a file, with its directories.
pub(crate) async fn write<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    path: &str,
    bytes: &[u8],
    mode: u32,
) -> Result<(), Errand> {
    if let Some((directory, _)) = path.rsplit_once('/') {
        let name = CommandName::new(format!("mkdir/{directory}"));
        let argv = ["mkdir", "-p", directory].map(str::to_owned).to_vec();
        run(sandboxes, sandbox, &name, argv, 1024).await?;
    }
    let ask = FileAsk::Write { path: path.to_owned(), user: User::Agent, mode };
    send(sandboxes, sandbox, &ask, bytes).await
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
    let (transfer, (), ()) =
        tokio::join!(sandboxes.file(sandbox, ask, Streams { input, output }), sending, ignoring);
    done(transfer?)
}

/// Reads a file or an archive of at most `limit` bytes.
pub(crate) async fn fetch<S: Sandboxes>(
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
    let path = match ask {
        FileAsk::Stat { path, .. }
        | FileAsk::List { path, .. }
        | FileAsk::Read { path, .. }
        | FileAsk::Write { path, .. }
        | FileAsk::TarOut { path, .. }
        | FileAsk::TarIn { path, .. } => path.clone(),
    };
    let bytes = bytes.ok_or(Errand::TooLarge { path, limit })?;
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
        environment: environment(PATH),
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

/// What every program of an agent finds.
pub(crate) fn environment(path: &str) -> BTreeMap<String, String> {
    let usual =
        [("PATH", path), ("HOME", HOME), ("USER", "lamp"), ("LANG", "C.UTF-8"), ("TERM", "dumb")];
    usual.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
