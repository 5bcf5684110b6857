//! `lamp resume`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use wire::task::ask::RaiseBudget;

use super::{World, dollars::Dollars, named::Named, told};

/// Let a paused task go on where it was
#[derive(Debug, clap::Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    named: Named,

    /// Let it spend this much in all from now on, such as `20`
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    budget: Option<Dollars>,

    #[command(flatten)]
    format: FormatFlag,
}

impl Resume {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let task = match self.budget {
            None => client.resume_task(&task.id).await.explained()?,
            Some(Dollars(to_micros)) => {
                let raised = client.raise_budget(&task.id, &RaiseBudget { to_micros }).await;
                let raised = raised.explained()?;
                // One that was not paused only has more to spend now.
                if raised.state == "paused" {
                    client.resume_task(&raised.id).await.explained()?
                } else {
                    raised
                }
            }
        };
        told(&format!("Task {} goes on.", task.short), &task, self.format, out)
    }
}
