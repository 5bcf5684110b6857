//! `lamp sandbox run`: a sandbox for one command.

use std::io::Write;

use contracts::ids::{IdSource as _, SystemIds};
use domain::id::SandboxId;
use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use tokio::signal::unix::{SignalKind, signal};
use wire::{
    client::Client,
    exec::{Ending, StartExec},
    sandbox::CreateSandbox,
};

use super::{
    exec::{self, Ran},
    wishes::{CommandFlags, ExposeFlags, MakeFlags},
};
use crate::session;

/// Run a command in a fresh sandbox, and delete it
///
/// Made, used and deleted, also on Ctrl-C. Ends as `lamp sandbox exec` does. A sandbox has no network but what `--allow` gives it.
#[derive(Debug, clap::Args)]
pub(super) struct Run {
    #[command(flatten)]
    make: MakeFlags,

    #[command(flatten)]
    flags: CommandFlags,

    #[command(flatten)]
    expose: ExposeFlags,

    #[command(flatten)]
    format: FormatFlag,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
}

/// Says what the sandbox could not reach.
async fn tell_network(
    client: &Client,
    id: &str,
    has_one: bool,
    err: &mut impl Write,
) -> anyhow::Result<()> {
    if !has_one {
        writeln!(
            err,
            "note: this sandbox has no network; `--allow RULE` gives it one, such as `--allow registry:npm`."
        )?;
        return Ok(());
    }
    // A server that cannot tell leaves the command's own words.
    let Ok(learned) = client.learned_egress(id).await else { return Ok(()) };
    for refused in learned.rules.iter().filter(|rule| !rule.allowed) {
        let by = refused.by.as_ref().map(|by| format!(", last for `{by}`")).unwrap_or_default();
        writeln!(
            err,
            "note: refused {} times{by}; `--allow '{}'` asks for it, if the policy allows it.",
            refused.times, refused.rule
        )?;
    }
    Ok(())
}

impl Run {
    pub(super) async fn run(
        &self,
        client: &Client,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        // Named by us, so that it can be deleted even if its making was interrupted.
        let id = SandboxId::from_u128(SystemIds.next()).to_string();
        let ran = self.make_and_run(client, &id, out, err).await;
        let deleted = client.delete(&id).await.explained();
        let exit = ran?;
        deleted?;
        Ok(exit)
    }

    async fn make_and_run(
        &self,
        client: &Client,
        id: &str,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let mut wish = CreateSandbox { id: Some(id.to_owned()), ..self.make.wish(client).await? };
        let exposed = self.make.split(client, &mut wish).await?;
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let made = tokio::select! {
            made = client.create(&wish) => made.explained()?,
            _ = interrupt.recv() => return Ok(Exit::Command(130)),
            _ = terminate.recv() => return Ok(Exit::Command(143)),
        };
        let expose = self.expose.wish(exposed, self.make.agent());
        let start = StartExec { expose, ..self.flags.start(&self.command) };
        let finished = match exec::run(client, id, start, self.format.format(), out, err).await? {
            Ran::Missing(exit) => return Ok(exit),
            Ran::Ended(finished) => finished,
        };
        exec::tell(&finished, Some(made.compute.memory_mib), err)?;
        let may_be_the_network = match finished.ending {
            Ending::Exited { code } => code != 0,
            Ending::TimedOut {} => true,
            Ending::Killed { .. } | Ending::OutOfMemory { .. } => false,
        };
        if may_be_the_network {
            tell_network(client, id, wish.network.is_some(), err).await?;
        }
        Ok(session::exit(&finished))
    }
}
