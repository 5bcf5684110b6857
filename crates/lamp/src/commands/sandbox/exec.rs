//! `lamp sandbox exec`, and how a command's end is told.

use std::io::Write;

use serde::Serialize;
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::{
    client::{Client, ExecEvent},
    exec::{Ending, Finished, StartExec},
};

use super::{
    Versioned,
    wishes::{CommandFlags, ExposeFlags},
};
use crate::{
    amount,
    session::{self, MissingProgram, Terminal, not_begun},
};

/// The most output that `--json` gathers.
const GATHERED: u64 = 16 << 20;

/// Run a command in a sandbox, and end as it does
///
/// What it says goes to our output as it is; on a terminal, control characters are shown instead of obeyed. Ends
/// with its exit code; 128 and the signal when it was killed; 124 when the time was up; 137 when the memory
/// ran out; 127 when there is no such program.
#[derive(Debug, clap::Args)]
pub(super) struct Exec {
    #[arg(value_name = "SANDBOX")]
    sandbox: String,

    /// A name within the sandbox: whoever runs it again under this name attaches to it, or gets its first answer
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    flags: CommandFlags,

    /// A secret that was set with `--expose env`: a variable of this one command; may be repeated
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,

    /// The agent that the command is of: secrets that name agents are for theirs alone
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    #[command(flatten)]
    expose: ExposeFlags,

    #[command(flatten)]
    format: FormatFlag,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
}

impl Exec {
    pub(super) async fn run(
        &self,
        client: &Client,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let expose = self.expose.wish(self.secrets.clone(), self.agent.clone());
        let name = self.name.clone();
        let start = StartExec { name, expose, ..self.flags.start(&self.command) };
        let ran = run(client, &self.sandbox, start, self.format.format(), out, err).await?;
        match ran {
            Ran::Missing(exit) => Ok(exit),
            Ran::Ended(finished) => {
                tell(&finished, None, err)?;
                Ok(session::exit(&finished))
            }
        }
    }
}

pub(super) enum Ran {
    Ended(Finished),
    /// There is no such program. It was said.
    Missing(Exit),
}

/// What a command said and how it ended, for programs.
#[derive(Debug, Serialize)]
struct Gathered<'a> {
    ending: &'a Ending,
    exit_code: u8,
    stdout: String,
    stderr: String,
    cut: bool,
    cpu_millis: u64,
}

/// Runs a command in a sandbox, for people or for programs.
pub(super) async fn run(
    client: &Client,
    sandbox: &str,
    start: StartExec,
    format: Format,
    out: &mut impl Write,
    err: &mut impl Write,
) -> anyhow::Result<Ran> {
    let ran = match format {
        Format::People => session::hold(client, sandbox, start, Terminal::None, out, err).await,
        Format::Json => gather(client, sandbox, start, out).await,
    };
    match ran {
        Ok(finished) => Ok(Ran::Ended(finished)),
        Err(error) if is_missing_program(&error) => {
            writeln!(err, "error: {error}")?;
            Ok(Ran::Missing(Exit::Command(127)))
        }
        Err(error) => Err(error),
    }
}

fn is_missing_program(error: &anyhow::Error) -> bool {
    error.downcast_ref::<MissingProgram>().is_some()
}

async fn gather(
    client: &Client,
    sandbox: &str,
    start: StartExec,
    out: &mut impl Write,
) -> anyhow::Result<Finished> {
    let start = StartExec { output_limit: Some(GATHERED), ..start };
    let (talking, mut hearing) = client.exec(sandbox, &start).await.explained()?;
    drop(talking.end_input().await);
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    let finished = loop {
        match hearing.next().await.map_err(not_begun)? {
            ExecEvent::Out(bytes) => said.extend_from_slice(&bytes),
            ExecEvent::Error(bytes) => complained.extend_from_slice(&bytes),
            ExecEvent::Finished(finished) => break finished,
        }
    };
    let exit_code = match session::exit(&finished) {
        Exit::Command(code) => code,
        Exit::Done | Exit::Failed | Exit::WrongUsage | Exit::ReaderGone => 1,
    };
    let gathered = Gathered {
        ending: &finished.ending,
        exit_code,
        stdout: String::from_utf8_lossy(&said).into_owned(),
        stderr: String::from_utf8_lossy(&complained).into_owned(),
        cut: finished.cut,
        cpu_millis: finished.cpu_millis,
    };
    write_json(&Versioned::new(gathered), out)?;
    Ok(finished)
}

/// Says what the exit code alone does not.
pub(super) fn tell(
    finished: &Finished,
    memory_mib: Option<u32>,
    err: &mut impl Write,
) -> anyhow::Result<()> {
    if finished.cut {
        writeln!(err, "note: there was more output than is passed on; the rest was dropped.")?;
    }
    match finished.ending {
        Ending::Exited { .. } | Ending::Killed { .. } => {}
        Ending::TimedOut {} => {
            writeln!(
                err,
                "error: the time was up, and the command was ended with all that it started."
            )?;
            writeln!(err, "hint: give it more with `--timeout`")?;
        }
        Ending::OutOfMemory { peak_mib } => {
            let peak = amount::bytes(u64::from(peak_mib) << 20);
            let limit =
                memory_mib.map(|mib| format!(" of {}", amount::bytes(u64::from(mib) << 20)));
            writeln!(
                err,
                "error: oom: the memory ran out; it used up to {peak}{}.",
                limit.unwrap_or_default()
            )?;
            writeln!(err, "hint: give it more with `--memory`, or make the command use less")?;
        }
    }
    Ok(())
}
