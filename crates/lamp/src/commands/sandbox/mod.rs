//! `lamp sandbox`: computers for one run, through a running server.

mod copy;
mod create;
mod delete;
mod exec;
mod fork;
mod get;
mod list;
mod run;
mod shell;
mod stats;
mod turn;
mod wishes;

use std::io::Write;

use terminal::{
    environment::Environment,
    exit::Exit,
    format::{Format, Versioned, write_json},
};
use wire::{client::Turn, sandbox as shape};
pub(crate) use wishes::{SourceFlags, tier as read_tier};

use crate::{amount, kept::block_on, remote::ServerFlag};

/// Make and use sandboxes: computers for one run
///
/// Talks to a running `lamp up`. A sandbox is named by its id or by its name.
#[derive(Debug, clap::Args)]
pub(crate) struct Sandbox {
    #[command(flatten)]
    server: ServerFlag,

    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Run(run::Run),
    Create(create::Create),
    List(list::List),
    Get(get::Get),
    Exec(exec::Exec),
    Shell(shell::Shell),
    Cp(copy::Copy),
    Stats(stats::Stats),
    /// Stop the clock of everything inside; memory is kept
    Freeze(turn::TurnOne),
    /// Let a frozen sandbox go on
    Thaw(turn::TurnOne),
    /// Stop everything and keep the disk
    Hibernate(turn::TurnOne),
    /// Open one that hibernates
    Resume(turn::TurnOne),
    Fork(fork::Fork),
    Delete(delete::Delete),
}

impl Sandbox {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let client = self.server.client(environment)?;
        block_on(async {
            match &self.what {
                What::Run(run) => run.run(&client, out, err).await,
                What::Create(create) => create.run(&client, out).await,
                What::List(list) => list.run(&client, out).await,
                What::Get(get) => get.run(&client, out).await,
                What::Exec(exec) => exec.run(&client, out, err).await,
                What::Shell(shell) => shell.run(&client, environment, out, err).await,
                What::Cp(copy) => copy.run(&client, out, err).await,
                What::Stats(stats) => stats.run(&client, out).await,
                What::Freeze(one) => one.run(&client, Turn::Freeze, out).await,
                What::Thaw(one) => one.run(&client, Turn::Thaw, out).await,
                What::Hibernate(one) => one.run(&client, Turn::Rest, out).await,
                What::Resume(one) => one.run(&client, Turn::Open, out).await,
                What::Fork(fork) => fork.run(&client, out).await,
                What::Delete(delete) => delete.run(&client, out).await,
            }
        })
    }
}

/// How people call it.
fn called(sandbox: &shape::Sandbox) -> &str {
    sandbox.name.as_deref().unwrap_or(&sandbox.id)
}

const fn state(state: shape::State) -> &'static str {
    match state {
        shape::State::Open => "open",
        shape::State::Frozen => "frozen",
        shape::State::Resting => "hibernating",
    }
}

const fn tier(tier: shape::Tier) -> &'static str {
    match tier {
        shape::Tier::Verified => "verified",
        shape::Tier::Standard => "standard",
        shape::Tier::Untrusted => "untrusted",
    }
}

/// One sandbox, as a person or a program reads it.
const fn access(read_only: bool) -> &'static str {
    if read_only { "read-only" } else { "writable" }
}

fn show(sandbox: &shape::Sandbox, format: Format, out: &mut impl Write) -> anyhow::Result<()> {
    match format {
        Format::Json => write_json(&Versioned::new(sandbox), out),
        Format::People => {
            let owner = match &sandbox.owner {
                shape::Owner::Task(task) => format!("task {task}"),
                shape::Owner::Person(name) => name.clone(),
            };
            let compute = sandbox.compute;
            writeln!(out, "id         {}", sandbox.id)?;
            writeln!(out, "name       {}", sandbox.name.as_deref().unwrap_or("-"))?;
            writeln!(out, "state      {}", state(sandbox.state))?;
            if let Some(reason) = &sandbox.died {
                writeln!(out, "ended      {reason}")?;
            }
            writeln!(out, "owner      {owner}")?;
            writeln!(out, "image      {}", sandbox.image)?;
            writeln!(out, "tier       {}", tier(sandbox.tier))?;
            writeln!(out, "workspace  {}", access(sandbox.read_only))?;
            writeln!(out, "cpu        {}", amount::cores(compute.cpu_millis))?;
            writeln!(out, "memory     {}", amount::bytes(u64::from(compute.memory_mib) << 20))?;
            writeln!(out, "disk       {}", amount::bytes(u64::from(compute.disk_mib) << 20))?;
            writeln!(out, "processes  {}", compute.processes)?;
            writeln!(out, "created    {}", amount::moment(sandbox.created_at_millis))?;
            Ok(())
        }
    }
}
