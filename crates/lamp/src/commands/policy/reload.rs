//! `lamp policy reload`: the running server reads its files again.

use std::io::Write;

use terminal::{
    colors::Colors,
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::egress::{ReloadedPolicy, RuleChange};

use crate::{kept::block_on, remote::ServerFlag};

/// Have the running server read its files again, and say what changed
///
/// What changed holds at once for every sandbox, also for those that run: connections that are no longer allowed are closed. If a file is wrong,
/// nothing changes, and it is said what is wrong. SIGHUP does the same.
#[derive(Debug, clap::Args)]
pub(super) struct Reload {
    #[command(flatten)]
    server: ServerFlag,

    #[command(flatten)]
    format: FormatFlag,
}

impl Reload {
    pub(super) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let client = self.server.client(environment)?;
        let told = block_on(async { client.reload_policy().await.explained() })?;
        match self.format.format() {
            Format::People => print(&told, colors, out)?,
            Format::Json => write_json(&told, out)?,
        }
        Ok(Exit::Done)
    }
}

fn print(told: &ReloadedPolicy, colors: Colors, out: &mut impl Write) -> anyhow::Result<()> {
    for it in &told.changes {
        let sign = match it.change {
            RuleChange::Added => colors.good("+"),
            RuleChange::Removed => colors.bad("-"),
        };
        writeln!(out, "{sign} {} {} {}: {}", it.layer, it.phase, it.list, it.rule)?;
    }
    for key in &told.others {
        writeln!(out, "~ {key}")?;
    }
    for key in &told.after_restart {
        writeln!(out, "~ {key}, after the next start of the server")?;
    }
    let is_same = told.changes.is_empty() && told.others.is_empty();
    match (is_same, told.sandboxes) {
        (true, _) => writeln!(out, "The files were read again; what holds is the same.")?,
        (false, 1) => writeln!(out, "This holds now, for 1 sandbox that runs.")?,
        (false, many) => writeln!(out, "This holds now, for {many} sandboxes that run.")?,
    }
    Ok(())
}
