//! Runs git to its end, within its limits. All that it started ends with it, also when nobody waits any more.

use std::{io, time::Duration};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, prlimit};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::shown;

/// What a run may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    pub(crate) time: Duration,
    /// For each file that it writes.
    pub(crate) file_bytes: Option<u64>,
    /// Of address space, for each of its processes.
    pub(crate) memory_bytes: Option<u64>,
    /// Of what it says; with more it has failed.
    pub(crate) output_bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("git cannot be run: {0}")]
    Io(#[from] io::Error),
    #[error("git could not {doing}: {reason}")]
    Failed { doing: &'static str, reason: String },
    #[error("git took too long")]
    OutOfTime,
    /// By the system, for a limit, or by somebody. It says nothing about what was asked.
    #[error("git was killed")]
    Killed,
    #[error("git said more than {limit} bytes")]
    TooMuch { limit: u64 },
    #[error("git said something unexpected when asked to {doing}")]
    Strange { doing: &'static str },
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) succeeded: Succeeded,
    pub(crate) output: Vec<u8>,
    /// The last lines of what it complained of, fit to be shown.
    pub(crate) complaint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Succeeded {
    Yes,
    No,
}

impl Ran {
    pub(crate) fn checked(self, doing: &'static str) -> Result<Vec<u8>, GitError> {
        match self.succeeded {
            Succeeded::Yes => Ok(self.output),
            Succeeded::No => Err(GitError::Failed { doing, reason: self.complaint }),
        }
    }
}

/// Runs it with `input`.
pub(crate) async fn run(
    command: Command,
    input: &[u8],
    allowance: Allowance,
) -> Result<Ran, GitError> {
    let mut running = Running::start(command, allowance)?;
    let sink = running.input.take();
    let feeding = async {
        if let Some(mut sink) = sink {
            // Whoever does not want all of it says so with its exit code.
            let _ = sink.write_all(input).await;
        }
    };
    let ending = async { tokio::join!(feeding, running.end(allowance.output_bytes)).1 };
    tokio::time::timeout(allowance.time, ending).await.map_err(|_elapsed| GitError::OutOfTime)?
}

/// A process of git's, with everything that it starts.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    leader: Option<Pid>,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: Option<ChildStdout>,
}

impl Running {
    pub(crate) fn start(mut command: Command, allowance: Allowance) -> Result<Self, GitError> {
        command.stdin(std::process::Stdio::piped());
        let mut child = command.spawn()?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let running = Self { child, leader, input, output };
        // Before it is given anything that it could need much for.
        let limits = [
            (Resource::Fsize, allowance.file_bytes),
            (Resource::As, allowance.memory_bytes),
            (Resource::Core, Some(0)),
        ];
        for (resource, most) in limits {
            running.limit(resource, most)?;
        }
        Ok(running)
    }

    fn limit(&self, resource: Resource, most: Option<u64>) -> io::Result<()> {
        let Some(most) = most else { return Ok(()) };
        // Without privilege a limit can only be lowered.
        let most = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        match prlimit(self.leader, resource, limit) {
            // It has ended already.
            Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for it, with what it says.
    pub(crate) async fn end(mut self, output_limit: u64) -> Result<Ran, GitError> {
        drop(self.input.take());
        let (output, complaints) = (self.output.take(), self.child.stderr.take());
        let (output, complaint, status) =
            tokio::join!(all(output, output_limit), last_lines(complaints), self.child.wait());
        // First: who says too much is not listened to any more, and dies of that.
        let output = output?;
        let succeeded = match status?.code() {
            Some(0) => Succeeded::Yes,
            Some(_) => Succeeded::No,
            None => return Err(GitError::Killed),
        };
        Ok(Ran { succeeded, output, complaint })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // Usually nobody is left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

async fn all(from: Option<impl AsyncRead + Unpin>, limit: u64) -> Result<Vec<u8>, GitError> {
    let mut bytes = Vec::new();
    let Some(from) = from else { return Ok(bytes) };
    let read = from.take(limit + 1).read_to_end(&mut bytes).await?;
    if read as u64 > limit { Err(GitError::TooMuch { limit }) } else { Ok(bytes) }
}

/// The end of what it complained of. The other side may have said anything through it.
async fn last_lines(from: Option<impl AsyncRead + Unpin>) -> String {
    const KEPT: usize = 4_096;
    let Some(mut from) = from else { return String::new() };
    let (mut buffer, mut kept) = ([0; 4_096], Vec::new());
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        kept.extend(buffer.iter().take(read));
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
    }
    let lines = kept.split(|byte| matches!(byte, b'\n' | b'\r'));
    let lines = lines.filter(|line| !line.trim_ascii().is_empty()).filter(|line| !is_noise(line));
    let lines: Vec<String> = lines.map(|line| shown::line(line.trim_ascii(), 300)).collect();
    let skipped = lines.len().saturating_sub(6);
    lines.into_iter().skip(skipped).collect::<Vec<_>>().join("; ")
}

fn is_noise(line: &[u8]) -> bool {
    line.starts_with(b"hint:") || line.windows(3).any(|part| part == b"% (")
}
