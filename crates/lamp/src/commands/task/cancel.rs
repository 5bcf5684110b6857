//! `lamp cancel`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};

use super::{World, named::Named, told};

/// End a task for good; what it spent and did stays on record
#[derive(Debug, clap::Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    format: FormatFlag,
}

impl Cancel {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let task = client.cancel_task(&task.id).await.explained()?;
        told(&format!("Task {} is cancelled.", task.short), &task, self.format, out)
    }
}
