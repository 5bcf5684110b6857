//! The least that this machine takes to run a program: what everything else is compared with.
//!
//! Measured in a process of its own (this program again, with [`CHILD`]), because the time of a fork grows with the
//! memory and the threads of whoever forks.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};

/// The argument that makes this program the one whose children are measured.
pub const CHILD: &str = "--floor";

/// What is run, everywhere.
pub const PROGRAM: &str = "/bin/true";

/// How a program can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    PosixSpawn,
    ForkExec,
}

/// The small process that starts programs for us.
#[derive(Debug)]
pub struct Floor {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Floor {
    pub fn start() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.arg(CHILD).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let asks = child.stdin.take().context("no way to ask")?;
        let answers = BufReader::new(child.stdout.take().context("no way to answer")?);
        Ok(Self { child, asks, answers })
    }

    /// How long [`PROGRAM`] takes from its start until its end was noticed.
    pub fn measure(&mut self, way: Way) -> anyhow::Result<Duration> {
        let word = match way {
            Way::PosixSpawn => "spawn",
            Way::ForkExec => "fork",
        };
        writeln!(self.asks, "{word}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let nanos = answer.trim().parse().context("the floor's process does not answer")?;
        Ok(Duration::from_nanos(nanos))
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        // It ends by itself when its input ends; if not, the next line ends it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The small process: starts a program per line, and says how many nanoseconds it took.
pub fn serve() -> anyhow::Result<()> {
    for line in io::stdin().lock().lines() {
        let way = match line?.as_str() {
            "spawn" => Way::PosixSpawn,
            _fork => Way::ForkExec,
        };
        let took = run(way)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", took.as_nanos())?;
        out.flush()?;
    }
    Ok(())
}

fn run(way: Way) -> anyhow::Result<Duration> {
    let mut command = Command::new(PROGRAM);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    match way {
        Way::PosixSpawn => {}
        // Another user than none in particular makes the standard library fork, also where it is the same user.
        Way::ForkExec => {
            command.uid(rustix::process::geteuid().as_raw());
        }
    }
    let begun = Instant::now();
    let status = command.status()?;
    let took = begun.elapsed();
    ensure!(status.success(), "{PROGRAM} ended with {status}");
    Ok(took)
}
