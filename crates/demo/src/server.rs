//! The demo's own server: `lamp up --temporary` as a process of its own, so that it can be told to end like every other.

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use terminal::report::Hint;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};
use wire::client::{Client, Endpoint};

use super::ground::Ground;

/// How long it may take to be up, on a slow machine.
const START: Duration = Duration::from_mins(1);

/// How long it may take to end its sandboxes.
const END: Duration = Duration::from_mins(1);

/// How much of its log is shown when it does not start.
const LAST_LINES: usize = 12;

#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Kept open: whoever writes into a closed pipe ends.
    _words: Lines<BufReader<ChildStdout>>,
    pub(crate) client: Client,
}

impl Server {
    pub(crate) async fn start(ground: &Ground) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot tell which program this is")?;
        let log = fs_err::File::create(ground.log())?;
        let mut command = Command::new(program);
        command.args(["up", "--temporary", "--listen", "127.0.0.1:0"]);
        command.arg("--config").arg(ground.server_file());
        command.arg("--data").arg(ground.data()).arg("--run").arg(ground.run());
        // What the person set up is for their own server.
        for name in ["LAMP_DATA", "LAMP_SERVER", "LAMP_TOKEN"] {
            command.env_remove(name);
        }
        for name in ["LAMP_MASTER_KEY", "LAMP_MASTER_KEY_COMMAND"] {
            command.env_remove(name);
        }
        command.env("HOME", ground.home());
        // Ctrl-C is for us: it would not do to have the server end while we still ask it for something.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log.into_file());
        let mut child = command.spawn().context("cannot start the server")?;
        let stdout = child.stdout.take().context("the server has no output")?;
        let mut words = BufReader::new(stdout).lines();
        let is_up = async {
            while let Some(line) = words.next_line().await? {
                // Its last line: it serves from here on.
                if line.starts_with("Ctrl-C ends it.") {
                    return anyhow::Ok(true);
                }
            }
            Ok(false)
        };
        let told = tokio::time::timeout(START, is_up).await;
        if !matches!(told, Ok(Ok(true))) {
            drop(child.start_kill());
            let text = fs_err::read_to_string(ground.log()).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
            let why = anyhow::anyhow!("its log ends so:\n{}", last.join("\n"));
            return Err(why.context(Hint::new(
                "the demo's server does not start",
                "run `lamp doctor` to see what this machine lacks",
            )));
        }
        let client = Client::new(Endpoint::Unix(ground.socket()));
        Ok(Self { child, _words: words, client })
    }

    /// Ends it, with its sandboxes and mounts.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended by itself.
            let _gone = kill_process(pid, Signal::TERM);
        }
        match tokio::time::timeout(END, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => bail!("the demo's server ended with {status}"),
            Ok(Err(error)) => Err(error).context("the demo's server is lost"),
            Err(_) => {
                self.child.kill().await?;
                bail!(
                    "the demo's server did not end, and was killed: `lamp up` on its data clears what it left"
                )
            }
        }
    }

    /// Comes back when it has ended, which it should not do by itself.
    pub(crate) async fn ended(&mut self) -> anyhow::Error {
        match self.child.wait().await {
            Ok(status) => anyhow::anyhow!("the demo's server has ended with {status}"),
            Err(error) => anyhow::Error::from(error).context("the demo's server is lost"),
        }
    }
}
