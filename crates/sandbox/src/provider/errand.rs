//! Small jobs of our own inside a sandbox: git commands, files to write.

use std::{collections::BTreeMap, time::Duration};

use contracts::sandbox::{Input, Output, Streams, User};
use guest::protocol::{Ask, Ending, FileJob, Job, Program};
use tokio::sync::mpsc;

use super::exec::{environment, who};
use crate::{
    body::Body,
    link::{LinkError, pump},
};

/// How much of what a job says is kept: the end of it.
const TAIL: usize = 64 * 1024;

/// How much it may say at all.
const OUTPUT: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) argv: &'a [String],
    pub(crate) directory: &'a str,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) user: User,
    pub(crate) limit: Duration,
}

/// How it went.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    /// The end of what it said.
    pub(crate) said: Vec<u8>,
}

impl Outcome {
    /// Nothing, if it went well; otherwise how it ended.
    pub(crate) fn how(&self) -> Option<String> {
        Some(match &self.ending {
            Ending::Exited(0) => return None,
            Ending::Exited(code) => format!("it ended with {code}"),
            Ending::Signaled(signal) => format!("signal {signal} ended it"),
            Ending::TimedOut => "it took too long".to_owned(),
            Ending::Killed => "it was ended".to_owned(),
            Ending::Failed { what, errno } => {
                format!("{what}: {}", std::io::Error::from_raw_os_error(*errno))
            }
        })
    }

    /// Nothing, if it went well; otherwise why not, with the last line that it said.
    pub(crate) fn trouble(&self) -> Option<String> {
        let how = self.how()?;
        let said = String::from_utf8_lossy(&self.said);
        let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        Some(last.map_or_else(|| how.clone(), |last| format!("{last} ({how})")))
    }
}

/// Runs it to its end. What it says is also passed on to `listener`.
pub(crate) async fn run(
    body: &Body,
    errand: &Errand<'_>,
    listener: Option<&mpsc::Sender<Vec<u8>>>,
) -> Result<Outcome, LinkError> {
    let program = Program {
        argv: errand.argv.to_vec(),
        environment: environment(&BTreeMap::new(), errand.user, errand.environment)
            .into_iter()
            .collect(),
        directory: errand.directory.to_owned(),
        who: who(errand.user),
        terminal: None,
        wall_millis: u64::try_from(errand.limit.as_millis()).unwrap_or(u64::MAX),
        output_limit: OUTPUT,
        sweeps: false,
    };
    let (_, no_input) = mpsc::channel(1);
    finish(body, Job::Program(program), no_input, listener).await
}

/// Writes a small file inside, as the agent.
pub(crate) async fn write(
    body: &Body,
    path: &str,
    content: &[u8],
    mode: u32,
) -> Result<Outcome, LinkError> {
    write_as(body, User::Agent, path, content, mode).await
}

/// Whether there is something at a path inside.
pub(crate) async fn is_there(body: &Body, path: &str, user: User) -> Result<bool, LinkError> {
    let job = Job::File { who: who(user), job: FileJob::Stat { path: path.to_owned() } };
    let (_, no_input) = mpsc::channel(1);
    Ok(finish(body, job, no_input, None).await?.trouble().is_none())
}

/// Writes a small file inside.
pub(crate) async fn write_as(
    body: &Body,
    user: User,
    path: &str,
    content: &[u8],
    mode: u32,
) -> Result<Outcome, LinkError> {
    let (input, given) = mpsc::channel(1);
    let job = FileJob::Write { path: path.to_owned(), mode };
    let job = Job::File { who: who(user), job };
    let giving = async {
        // If it ends early, it says why.
        let _ = input.send(Input::Bytes(content.to_vec())).await;
        drop(input);
    };
    let (outcome, ()) = tokio::join!(finish(body, job, given, None), giving);
    outcome
}

async fn finish(
    body: &Body,
    job: Job,
    input: mpsc::Receiver<Input>,
    listener: Option<&mpsc::Sender<Vec<u8>>>,
) -> Result<Outcome, LinkError> {
    let mut channel = body.link.open("", job)?;
    let (output, mut saying) = mpsc::channel(8);
    let listening = async {
        let mut said: Vec<u8> = Vec::new();
        while let Some(chunk) = saying.recv().await {
            let (Output::Out(bytes) | Output::Error(bytes)) = chunk;
            said.extend_from_slice(&bytes);
            if said.len() > 2 * TAIL {
                said.drain(..said.len() - TAIL);
            }
            if let Some(listener) = listener {
                // Nobody needs to listen.
                let _ = listener.send(bytes).await;
            }
        }
        said
    };
    let pumping = async {
        let ended = pump(&mut channel, Streams { input, output }).await;
        let _ = body.link.send(&Ask::Forget { channel: channel.id() });
        ended
    };
    let (ended, said) = tokio::join!(pumping, listening);
    Ok(Outcome { ending: ended?.ending, said })
}
