//! The program git in a closed environment: no settings but ours, no hooks, no questions, no other protocols.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, prlimit};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
    sync::mpsc,
};

use super::MirrorError;

/// Where it is, and a home without anything in it.
#[derive(Debug)]
pub(super) struct Git {
    pub(super) program: PathBuf,
    pub(super) home: PathBuf,
}

/// What a run may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    pub(super) time: Duration,
    /// For each file that it writes.
    pub(super) file_bytes: Option<u64>,
}

/// Looking something up in a mirror.
pub(super) const QUICK: Allowance = Allowance { time: Duration::from_mins(1), file_bytes: None };

/// How a run ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) succeeded: Succeeded,
    pub(super) output: String,
    /// The last lines of what it complained of.
    pub(super) complaint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Succeeded {
    Yes,
    No,
}

/// It did not end in time, and was ended.
#[derive(Debug)]
pub(super) struct OutOfTime;

/// Nothing of a repository runs: git has no hooks to find, and no program of its choice to start.
const SETTINGS: [&str; 19] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    // Harmless, and common in histories that were converted from elsewhere.
    "fetch.fsck.zeroPaddedFilemode=ignore",
    "fetch.fsck.badTimezone=ignore",
    "fetch.fsck.missingSpaceBeforeDate=ignore",
    // A pack stays a pack: thousands of loose objects would slow every sandbox down.
    "fetch.unpackLimit=1",
    "fetch.writeCommitGraph=true",
];

const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Git {
    /// A command on a mirror.
    pub(super) fn on(&self, mirror: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs([
                ("PATH", SEARCH),
                ("LC_ALL", "C"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_ATTR_NOSYSTEM", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_ASKPASS", "false"),
                ("SSH_ASKPASS", "false"),
                ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
                // A repository that pretends to be partial would have missing objects fetched, by a program of
                // its choice.
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
                ("GIT_OPTIONAL_LOCKS", "0"),
            ])
            .env("HOME", &self.home)
            .current_dir(&self.home)
            .arg("--git-dir")
            .arg(mirror)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
    }

    /// A new bare repository without hooks and examples.
    pub(super) async fn init(&self, mirror: &Path) -> Result<(), MirrorError> {
        let mut command = self.on(mirror);
        command.args([
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--initial-branch=main",
            "--shared=0644",
        ]);
        let ran = run(command, QUICK, None).await?;
        match ran {
            Ok(ran) => ran.checked("make a mirror").map(drop),
            Err(OutOfTime) => Err(MirrorError::Git {
                doing: "make a mirror",
                reason: "it took too long".to_owned(),
            }),
        }
    }
}

impl Ran {
    pub(super) fn checked(self, doing: &'static str) -> Result<String, MirrorError> {
        match self.succeeded {
            Succeeded::Yes => Ok(self.output),
            Succeeded::No => Err(MirrorError::Git { doing, reason: self.complaint }),
        }
    }
}

/// Runs it to its end. All that it started ends with it, also when nobody waits any more.
pub(super) async fn run(
    mut command: Command,
    allowance: Allowance,
    progress: Option<mpsc::Sender<String>>,
) -> Result<Result<Ran, OutOfTime>, MirrorError> {
    let mut child = command.spawn()?;
    let family = Family::of(&child);
    if let Some(bytes) = allowance.file_bytes {
        // Without privilege a limit can only be lowered.
        let bytes = getrlimit(Resource::Fsize).maximum.map_or(bytes, |most| most.min(bytes));
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // Set before git has found out what to fetch, and inherited by what it starts to write it.
        prlimit(family.leader, Resource::Fsize, limit).map_err(std::io::Error::from)?;
    }
    let (output, complaint) = (child.stdout.take(), child.stderr.take());
    let ending = async {
        let (output, complaint, status) =
            tokio::join!(all(output), lines(complaint, progress), child.wait());
        status.map(|status| Ran {
            succeeded: if status.success() { Succeeded::Yes } else { Succeeded::No },
            output,
            complaint,
        })
    };
    let ended = tokio::time::timeout(allowance.time, ending).await;
    drop(family);
    match ended {
        Ok(ran) => Ok(Ok(ran?)),
        Err(_elapsed) => Ok(Err(OutOfTime)),
    }
}

/// The process and all its children, killed when this goes.
struct Family {
    leader: Option<Pid>,
}

impl Family {
    fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // Usually nobody is left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// More than any answer that we ask for.
const LONGEST_OUTPUT: u64 = 16 << 20;

async fn all(output: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        let _ = output.take(LONGEST_OUTPUT).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Passes each line on, and keeps the last that were no progress. Whoever does not listen misses lines; nobody waits.
async fn lines(from: Option<impl AsyncRead + Unpin>, to: Option<mpsc::Sender<String>>) -> String {
    const KEPT: usize = 12;
    const LONGEST: usize = 400;
    let Some(mut from) = from else { return String::new() };
    let (mut buffer, mut line, mut kept) = ([0; 4_096], Vec::new(), Vec::<String>::new());
    // Progress is written over by the next line. What ssh says ends in a return and a new line.
    let mut returned = None;
    loop {
        let read = from.read(&mut buffer).await.unwrap_or_default();
        for byte in buffer.iter().take(read) {
            let ends = matches!(byte, b'\r' | b'\n');
            if !ends && line.len() < LONGEST {
                line.push(*byte);
            }
            if ends && !line.is_empty() {
                let text = shown(&line);
                line.clear();
                if let Some(to) = &to {
                    let _ = to.try_send(text.clone());
                }
                returned = Some(text);
            }
            if *byte == b'\n' {
                kept.extend(returned.take().filter(|text| !is_progress(text)));
            }
        }
        if read == 0 {
            break;
        }
    }
    let skipped = kept.len().saturating_sub(KEPT);
    kept.into_iter().skip(skipped).collect::<Vec<_>>().join("; ")
}

fn is_progress(line: &str) -> bool {
    line.contains("% (")
        || line.starts_with("remote: Enumerating")
        || line.starts_with("remote: Total")
}

/// The other side may say anything, and people read it in a terminal.
fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line)
        .chars()
        .filter(|c| !c.is_control())
        .collect::<String>()
        .trim()
        .to_owned()
}
