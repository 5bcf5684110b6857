//! One engine in a process of its own.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::Context as _;

use crate::arena::Arena;

/// When a player ends itself, by SIGKILL, in the middle of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doom {
    Never,
    /// At this moment, counted from 1 over everything that the engine's witness sees.
    Moment(u32),
}

/// Where the program `scripted-engine` is.
#[derive(Debug, Clone)]
pub struct Program(pub PathBuf);

#[derive(Debug)]
pub struct Player {
    child: Child,
}

impl Program {
    /// The one beside this program.
    pub fn beside_us() -> anyhow::Result<Self> {
        let us = std::env::current_exe()?;
        let directory = us.parent().context("this program is nowhere")?;
        Ok(Self(directory.join("scripted-engine")))
    }

    pub fn start(&self, arena: &Arena, name: &str, doom: Doom) -> anyhow::Result<Player> {
        self.start_on(arena.url(), arena.directory(), name, doom)
    }

    pub fn start_on(
        &self,
        url: &str,
        directory: &Path,
        name: &str,
        doom: Doom,
    ) -> anyhow::Result<Player> {
        let mut command = Command::new(&self.0);
        command.args(["--database", url, "--name", name, "--directory"]).arg(directory);
        match doom {
            Doom::Never => {}
            Doom::Moment(number) => {
                command.args(["--die-at", &number.to_string()]);
            }
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Ok(Player { child: child.with_context(|| format!("cannot start {}", self.0.display()))? })
    }
}

impl Player {
    /// Ends it, as the power failing would.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops it in its tracks: it neither works nor renews, and does not know it.
    pub fn freeze(&self) -> anyhow::Result<()> {
        self.signal(rustix::process::Signal::STOP)
    }

    pub fn thaw(&self) -> anyhow::Result<()> {
        self.signal(rustix::process::Signal::CONT)
    }

    /// Whether it is still there.
    pub fn is_running(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    fn signal(&self, signal: rustix::process::Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id())?;
        let pid = rustix::process::Pid::from_raw(pid).context("a process has a number")?;
        Ok(rustix::process::kill_process(pid, signal)?)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // It may have gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
