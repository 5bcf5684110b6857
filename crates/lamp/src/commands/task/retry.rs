//! `lamp retry`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use wire::task::ask;

use super::{World, named::Named, told};

const PHASES: [&str; 7] =
    ["prepare", "research", "plan", "implement", "verify", "review", "deliver"];

/// Have a task try again, from the phase that it stopped in or an earlier one
#[derive(Debug, clap::Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    named: Named,

    /// The phase to begin from: `prepare`, `research`, `plan`, `implement`, `verify`, `review` or `deliver`
    #[arg(long, value_name = "PHASE", value_parser = phase)]
    from: Option<String>,

    #[command(flatten)]
    format: FormatFlag,
}

fn phase(text: &str) -> Result<String, String> {
    if PHASES.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a phase: those that there are: {}", PHASES.join(", ")))
}

impl Retry {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let wish = ask::Retry { from: self.from.clone() };
        let task = client.retry_task(&task.id, &wish).await.explained()?;
        told(&format!("Task {} tries again.", task.short), &task, self.format, out)
    }
}
