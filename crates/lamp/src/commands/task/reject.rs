//! `lamp reject`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use wire::task::ask;

use super::{World, approve, named::Named, told, words_flag::WordsFlag};

/// Send the plan back with a comment: the agent reads it and plans anew
#[derive(Debug, clap::Args)]
pub(crate) struct Reject {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    words: WordsFlag,

    #[command(flatten)]
    format: FormatFlag,
}

impl Reject {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let plan = approve::waiting(&client, &task).await?.plan.hash;
        let example =
            format!("say what should be different: `lamp reject {} \"smaller\"`", task.short);
        let comment = self.words.read(&example)?;
        let task = client.reject(&task.id, &ask::Reject { plan, comment }).await.explained()?;
        told(
            "The plan was sent back; the agent reads your comment and plans anew.",
            &task,
            self.format,
            out,
        )
    }
}
