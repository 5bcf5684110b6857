//! Runs git to its end, within its limits. All that it started ends with it, also when nobody waits any more.

use std::{collections::VecDeque, io, time::Duration};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, prlimit};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
};

use crate::shown;

/// What a run may take.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    pub time: Duration,
    /// For each file that it writes.
    pub file_bytes: Option<u64>,
    /// Of address space, for each of its processes.
    pub memory_bytes: Option<u64>,
    /// Of what it says; with more it has failed.
    pub output_bytes: u64,
}

/// Looking something up, or writing something small. A commit, a tag or a record can be a small pack that unfolds to a very large
/// object, so what only looks has a limit of memory as well.
pub const QUICK: Allowance = Allowance {
    time: Duration::from_mins(1),
    file_bytes: None,
    memory_bytes: Some(2 << 30),
    output_bytes: 16 << 20,
};

/// Who hears what git says while it works, and what must not be told. Whoever does not listen misses lines; nobody waits.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) to: mpsc::Sender<String>,
    pub(crate) secret: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
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
pub struct Ran {
    pub succeeded: Succeeded,
    pub output: Vec<u8>,
    /// The last lines of what it complained of, fit to be shown.
    pub complaint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Succeeded {
    Yes,
    No,
}

impl Ran {
    pub fn checked(self, doing: &'static str) -> Result<Vec<u8>, GitError> {
        match self.succeeded {
            Succeeded::Yes => Ok(self.output),
            Succeeded::No => Err(GitError::Failed { doing, reason: self.complaint }),
        }
    }
}

/// Runs it with `input`.
pub async fn run(command: Command, input: &[u8], allowance: Allowance) -> Result<Ran, GitError> {
    run_telling(command, input, allowance, None).await
}

/// The same, and tells each line of its progress.
pub(crate) async fn run_telling(
    command: Command,
    input: &[u8],
    allowance: Allowance,
    told: Option<Told>,
) -> Result<Ran, GitError> {
    let mut running = Running::start(command, allowance)?;
    let sink = running.input.take();
    let feeding = async {
        if let Some(mut sink) = sink {
            // Whoever does not want all of it says so with its exit code.
            let _ = sink.write_all(input).await;
        }
    };
    let ending = async { tokio::join!(feeding, running.finish(allowance.output_bytes, told)).1 };
    tokio::time::timeout(allowance.time, ending).await.map_err(|_elapsed| GitError::OutOfTime)?
}

/// A process of git's, with everything that it starts.
#[derive(Debug)]
pub struct Running {
    child: Child,
    leader: Option<Pid>,
    pub input: Option<ChildStdin>,
    pub output: Option<ChildStdout>,
}

impl Running {
    pub fn start(mut command: Command, allowance: Allowance) -> Result<Self, GitError> {
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
    pub async fn end(self, output_limit: u64) -> Result<Ran, GitError> {
        self.finish(output_limit, None).await
    }

    async fn finish(mut self, output_limit: u64, told: Option<Told>) -> Result<Ran, GitError> {
        drop(self.input.take());
        let (output, complaints) = (self.output.take(), self.child.stderr.take());
        let (output, complaint, status) =
            tokio::join!(all(output, output_limit), lines(complaints, told), self.child.wait());
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

/// Tells each line, and keeps the last of those that were no progress. The other side may have said anything through it.
async fn lines(from: Option<impl AsyncRead + Unpin>, told: Option<Told>) -> String {
    let Some(mut from) = from else { return String::new() };
    let (mut buffer, mut lines) = ([0; 4_096], Lines::new(told));
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        buffer.iter().take(read).for_each(|byte| lines.take(*byte));
    }
    lines.end()
}

/// What was said so far. It takes the same room however much was said.
struct Lines {
    told: Option<Told>,
    line: Vec<u8>,
    /// Progress ends in a return, and the next line is written over it. What ssh says ends in a return and a new line.
    returned: Option<String>,
    kept: VecDeque<String>,
}

impl Lines {
    const MOST: usize = 12;
    const LONGEST: usize = 400;

    const fn new(told: Option<Told>) -> Self {
        Self { told, line: Vec::new(), returned: None, kept: VecDeque::new() }
    }

    fn take(&mut self, byte: u8) {
        match byte {
            b'\r' => self.end_of_line(),
            b'\n' => {
                self.end_of_line();
                self.keep();
            }
            byte if self.line.len() < Self::LONGEST => self.line.push(byte),
            _too_long => {}
        }
    }

    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let text = shown::line(line, Self::LONGEST);
        if let Some(Told { to, secret }) = &self.told {
            let _ = to.try_send(match secret {
                Some(secret) => text.replace(secret.as_str(), "***"),
                None => text.clone(),
            });
        }
        self.returned = Some(text);
    }

    fn keep(&mut self) {
        let Some(text) = self.returned.take().filter(|text| !is_noise(text)) else { return };
        if self.kept.len() == Self::MOST {
            self.kept.pop_front();
        }
        self.kept.push_back(text);
    }

    /// Also what ended without a new line.
    fn end(mut self) -> String {
        self.end_of_line();
        self.keep();
        self.kept.into_iter().collect::<Vec<_>>().join("; ")
    }
}

/// Advice for a person at a terminal, and progress.
fn is_noise(line: &str) -> bool {
    let starts = ["hint:", "remote: Enumerating", "remote: Total"];
    line.contains("% (") || starts.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(said: &[u8], told: Option<Told>) -> String {
        let mut lines = Lines::new(told);
        for byte in said {
            lines.take(*byte);
        }
        lines.end()
    }

    #[test]
    fn of_a_complaint_the_last_lines_are_kept_without_progress() {
        let said = b"Receiving objects:  50% (1/2)\rReceiving objects: 100% (2/2)\nhint: try\nremote: Total 3\n\
                     sshd says no\r\nfatal: \x1b[2Jit broke\r\nfatal: the end";
        assert_eq!(kept(said, None), "sshd says no; fatal: \\u{1b}[2Jit broke; fatal: the end");
        let many = (0..1_000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
        let last = kept(many.as_bytes(), None);
        assert!(last.starts_with("988; ") && last.ends_with("; 999"), "{last}");
        assert!(kept(&vec![b'x'; 100_000], None).len() <= 400);
    }

    #[test]
    fn who_listens_hears_each_line_without_the_secret() {
        let (to, mut heard) = mpsc::channel(10);
        let told = Told { to, secret: Some("me:hunter2".to_owned()) };
        kept(b"Receiving objects:  50% (1/2)\rFrom https://me:hunter2@host/x\n", Some(told));
        assert_eq!(heard.blocking_recv().unwrap(), "Receiving objects:  50% (1/2)");
        assert_eq!(heard.blocking_recv().unwrap(), "From https://***@host/x");
    }
}
