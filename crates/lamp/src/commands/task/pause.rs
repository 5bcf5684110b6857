//! `lamp pause`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};

use super::{World, named::Named, told};

/// Pause a task: nothing runs and nothing is spent until `lamp resume`
#[derive(Debug, clap::Args)]
pub(crate) struct Pause {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    format: FormatFlag,
}

impl Pause {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let task = client.pause_task(&task.id).await.explained()?;
        told(&format!("Task {} is paused.", task.short), &task, self.format, out)
    }
}
