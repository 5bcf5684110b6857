//! `lamp demo`: the whole journey on a sample repository, for somebody who has just met Lamplighter.

use std::{io::Write, path::PathBuf, time::Duration};

use anyhow::Context as _;
use demo::{After, Approval, Checks, Wishes};
use terminal::{colors::Colors, environment::Environment, exit::Exit};

use super::task::held_against;

/// See one task go from a sentence to a merged pull request, without any account
///
/// Makes a sample repository with a fault in a temporary directory, starts a server of its own there, and has the built-in agent mend
/// the fault: research, plan, approval, work, checks, review, pull request, receipt. The model's answers are bundled; all else is real.
/// Nothing of yours is touched, and nothing is left. Exit code 0 if the receipt holds, 1 if not, or if you said no to the plan.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Say yes to the plan and to the merge beforehand
    #[arg(long, short)]
    yes: bool,

    /// Leave the server running afterwards, to look around in, until Ctrl-C
    #[arg(long)]
    keep: bool,

    /// Make everything in this directory, and leave the files there [default: a temporary one, which is removed]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Ask a real model instead, with the key in `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

impl Demo {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let wishes = Wishes {
            approval: if self.yes { Approval::Given } else { Approval::Asked },
            after: if self.keep { After::Stay } else { After::End },
            place: self.dir.clone(),
            model: self.model.clone(),
            checks: Checks {
                keys: held_against::keys,
                tree: held_against::tree,
                plan: held_against::plan,
            },
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.context("cannot start")?;
        let ended = runtime.block_on(demo::play(&wishes, environment, colors, out));
        // Somebody may still be asked who has ended the demo instead.
        runtime.shutdown_timeout(Duration::from_millis(100));
        ended
    }
}
