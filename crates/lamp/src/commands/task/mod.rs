//! What a person types about tasks: hand one over, watch it, decide about it, look at what it made.
//!
//! One file per command. Each finds its task by what the person typed ([`named`]), and ends with what they can type next.

mod amend;
mod answer;
mod approve;
mod cancel;
mod checks;
mod conditions;
mod diff;
mod dollars;
mod get;
pub(crate) mod held_against;
mod list;
mod log;
mod message;
mod named;
mod open;
mod pause;
mod pick;
mod plan;
mod receipt_here;
mod reject;
mod repository;
mod resume;
mod retry;
mod revert;
mod review;
mod run;
mod shell;
mod usage;
mod verify;
mod why;
mod words_flag;
mod world;

use std::io::Write;

pub(crate) use approve::FEWEST;
pub(crate) use diff::show as show_patch;
#[cfg(test)]
pub(crate) use list::samples;
pub(crate) use named::find;
pub(crate) use repository::here;
pub(crate) use words_flag::WordsFlag;
pub(crate) use world::{World, columns};

use terminal::{
    colors::Colors,
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
};
use wire::task::shown::Task;

use crate::{
    kept::block_on,
    timeline::{next_steps, words},
};

/// Says what changed, and what can be typed next.
fn told(what: &str, task: &Task, format: FormatFlag, out: &mut impl Write) -> anyhow::Result<Exit> {
    match format.format() {
        Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(task))?)?,
        Format::People => write!(out, "{what}\n{}", next_steps(task))?,
    }
    Ok(Exit::Done)
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Tasks {
    Run(Box<run::Run>),
    List(list::List),
    Get(get::Get),
    Log(log::Log),
    Plan(plan::Plan),
    Approve(approve::Approve),
    Reject(reject::Reject),
    Answer(answer::Answer),
    Message(message::Message),
    Amend(amend::Amend),
    Pause(pause::Pause),
    Resume(resume::Resume),
    Cancel(cancel::Cancel),
    Retry(retry::Retry),
    Pick(pick::Pick),
    Diff(diff::Diff),
    Checks(checks::Checks),
    Review(review::Review),
    Shell(shell::Shell),
    Open(open::Open),
    Usage(usage::Usage),
    Why(why::Why),
    Verify(verify::Verify),
    Revert(revert::Revert),
}

/// Their names, as `lamp --help` groups them.
pub(crate) const NAMES: &[&str] = &[
    "run", "list", "get", "log", "plan", "approve", "reject", "answer", "message", "amend",
    "pause", "resume", "cancel", "retry", "pick",
];

/// Those about what a task made.
pub(crate) const MADE: &[&str] =
    &["diff", "checks", "review", "pr", "open", "shell", "usage", "why", "verify", "revert"];

impl Tasks {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let world = World::new(environment, colors);
        block_on(async {
            match self {
                Self::Run(run) => run.run(world, out, err).await,
                Self::List(list) => list.run(world, out).await,
                Self::Get(get) => get.run(world, out).await,
                Self::Log(log) => log.run(world, out, err).await,
                Self::Plan(plan) => plan.run(world, out).await,
                Self::Approve(approve) => approve.run(world, out).await,
                Self::Reject(reject) => reject.run(world, out).await,
                Self::Answer(answer) => answer.run(world, out).await,
                Self::Message(message) => message.run(world, out).await,
                Self::Amend(amend) => amend.run(world, out).await,
                Self::Pause(pause) => pause.run(world, out).await,
                Self::Resume(resume) => resume.run(world, out).await,
                Self::Cancel(cancel) => cancel.run(world, out).await,
                Self::Retry(retry) => retry.run(world, out).await,
                Self::Pick(pick) => pick.run(world, out).await,
                Self::Diff(diff) => diff.run(world, out).await,
                Self::Checks(checks) => checks.run(world, out).await,
                Self::Review(review) => review.run(world, out).await,
                Self::Shell(shell) => shell.run(world, out, err).await,
                Self::Open(open) => open.run(world, out).await,
                Self::Usage(usage) => usage.run(world, out).await,
                Self::Why(why) => why.run(world, out).await,
                Self::Verify(verify) => verify.run(world, out).await,
                Self::Revert(revert) => revert.run(world, out).await,
            }
        })
    }
}
