//! Runs a command. Its end is the end of the shell, whoever still holds the pipe; what it prints is cut in the middle.

use std::{
    io::{PipeReader, Read as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Pid,
};
use serde::Deserialize;

use super::{Outcome, processes};
use crate::{
    conversation::End,
    cut::HeadAndTail,
    stop::{Stop, Stopped},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    command: String,
    #[serde(default)]
    timeout_seconds: Option<u64>,
}

const USUAL_SECONDS: u64 = 120;
const MOST_SECONDS: u64 = 1800;
/// The kernel takes no longer argument.
const LONGEST_COMMAND: usize = 100_000;
/// Who prints more than this is not read any more, but ended.
const MOST_PRINTED: u64 = 256 << 20;
/// How often it is looked whether the command ended, or is no longer wanted.
const LOOK: Duration = Duration::from_millis(20);
/// How much is still read of what lies in the pipe when the shell has ended.
const MOST_LEFT: usize = 1 << 20;
/// How long it is waited for what was killed.
const DYING: Duration = Duration::from_millis(500);

/// What is ours, and nothing that a command needs.
const HIDDEN: [&str; 5] =
    ["LAMP_MODEL_KEY", "LAMP_MODEL_URL", "LAMP_MODEL_FORMAT", "LAMP_MODEL", "LAMP_AGENT_HOME"];

/// What is new below us while a command runs is the command's, so there is one at a time.
static TURN: Mutex<()> = Mutex::new(());

pub(super) fn run(wish: &Wish, root: &Path, most: usize, stop: &Stop) -> Result<Outcome, Stopped> {
    if wish.command.len() > LONGEST_COMMAND || wish.command.contains('\0') {
        let told = format!("a command has at most {LONGEST_COMMAND} bytes, none of them zero");
        return Ok(Outcome::failed(told));
    }
    let seconds = wish.timeout_seconds.unwrap_or(USUAL_SECONDS).clamp(1, MOST_SECONDS);
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = processes::below();
    let (child, pipe) = match start(wish, root) {
        Ok(started) => started,
        Err(error) => return Ok(Outcome::failed(format!("the shell does not start: {error}"))),
    };
    let group = Pid::from_child(&child);
    let mut running = Running { child, pipe: Some(pipe), kept: HeadAndTail::new(most) };
    let ended = running.watch(Instant::now() + Duration::from_secs(seconds), stop);
    match &ended {
        Ended::ByItself(_) => {}
        Ended::Late | Ended::Loud | Ended::Unwanted(_) | Ended::Lost(_) => {
            processes::end_since(&before, group);
            running.buried();
        }
    }
    running.drain();
    processes::bury(&before, group);
    let printed = running.kept.text();
    Ok(match ended {
        Ended::Unwanted(stopped) => return Err(stopped),
        Ended::ByItself(status) => told(status, &printed),
        Ended::Late => Outcome::failed(format!(
            "It was killed after {seconds} seconds, with all that it started. Until then it printed:\n{printed}"
        )),
        Ended::Loud => Outcome::failed(format!(
            "It was killed because it printed more than {MOST_PRINTED} bytes:\n{printed}"
        )),
        Ended::Lost(error) => Outcome::failed(format!("It was lost: {error}")),
    })
}

enum Ended {
    ByItself(ExitStatus),
    Late,
    Loud,
    Unwanted(Stopped),
    Lost(std::io::Error),
}

fn told(status: ExitStatus, printed: &str) -> Outcome {
    use std::os::unix::process::ExitStatusExt as _;
    // As shells do it: a signal is a number above 128.
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
    let printed = if printed.is_empty() { "[it printed nothing]" } else { printed };
    let text = format!("exit code {code}\n{printed}");
    Outcome { text, end: End::Done, exit_code: Some(code), change: None }
}

fn start(wish: &Wish, root: &Path) -> std::io::Result<(Child, PipeReader)> {
    let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
    let (reader, writer) = std::io::pipe()?;
    let mut command = Command::new(shell);
    command
        .args(["-c", &wish.command])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .envs([
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("TERM", "dumb"),
        ])
        .process_group(0);
    for name in HIDDEN {
        command.env_remove(name);
    }
    // The command holds our copies of the writing end; it goes with it.
    Ok((command.spawn()?, reader))
}

struct Running {
    child: Child,
    /// None when everyone closed the other end.
    pipe: Option<PipeReader>,
    kept: HeadAndTail,
}

impl Running {
    fn watch(&mut self, until: Instant, stop: &Stop) -> Ended {
        loop {
            if let Err(stopped) = stop.check() {
                return Ended::Unwanted(stopped);
            }
            match self.child.try_wait() {
                Ok(Some(status)) => return Ended::ByItself(status),
                Ok(None) => {}
                Err(error) => return Ended::Lost(error),
            }
            if Instant::now() > until {
                return Ended::Late;
            }
            if self.kept.seen() > MOST_PRINTED {
                return Ended::Loud;
            }
            if self.pipe.is_some() {
                self.take(LOOK);
            } else if let Err(stopped) = stop.wait(LOOK) {
                return Ended::Unwanted(stopped);
            }
        }
    }

    /// What is in the pipe now. Who holds it in the background is not waited for.
    fn drain(&mut self) {
        let seen = self.kept.seen();
        while self.kept.seen() - seen < MOST_LEFT as u64 && self.take(Duration::ZERO) {}
        self.pipe = None;
    }

    /// Reads once, if something comes in time; whether something did.
    fn take(&mut self, time: Duration) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        let mut waiting = [PollFd::new(&*pipe, PollFlags::IN)];
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        if !matches!(poll(&mut waiting, Some(&time)), Ok(1..)) {
            return false;
        }
        let mut bytes = [0; 16 << 10];
        match pipe.read(&mut bytes) {
            Ok(0) | Err(_) => {
                self.pipe = None;
                false
            }
            Ok(length) => {
                self.kept.feed(bytes.get(..length).unwrap_or_default());
                true
            }
        }
    }

    /// Waits for who was killed, but not for ever.
    fn buried(&mut self) {
        let until = Instant::now() + DYING;
        let nobody_stops_this = Stop::default();
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            let _waited = nobody_stops_this.wait(Duration::from_millis(2));
        }
    }
}
