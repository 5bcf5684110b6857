//! `lamp amend`

use std::io::Write;

use anyhow::bail;
use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _, report::Hint};
use wire::task::{ask, plan::Conditions};

use super::{World, conditions::ConditionFlags, named::Named, told};
use crate::timeline::conditions;

/// Change the conditions of an approval
///
/// What is said here replaces all that was said before. `--none` takes every condition away: whatever the server's policy allows is allowed then.
#[derive(Debug, clap::Args)]
pub(crate) struct Amend {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    conditions: ConditionFlags,

    /// No conditions any more
    #[arg(long, conflicts_with_all = ["paths", "hosts", "commands", "budget", "time"])]
    none: bool,

    #[command(flatten)]
    format: FormatFlag,
}

impl Amend {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let wished = self.conditions.wish();
        if wished == Conditions::default() && !self.none {
            bail!(Hint::new(
                "there is no condition to change",
                format!(
                    "say which: `lamp amend {} --path src --budget 10`, or `--none`",
                    task.short
                )
            ));
        }
        let under = conditions(&wished);
        let task = client.amend(&task.id, &ask::Amend { conditions: wished }).await.explained()?;
        let what = if under.is_empty() {
            "There are no conditions any more.".to_owned()
        } else {
            format!("These conditions hold now:\n{}", under.trim_end())
        };
        told(&what, &task, self.format, out)
    }
}
