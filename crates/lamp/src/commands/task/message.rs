//! `lamp message`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use wire::task::ask::SendMessage;

use super::{World, named::Named, told, words_flag::WordsFlag};

/// Say something to a task's agent, at any time
///
/// On an open pull request it wakes the task, which goes on with the same branch.
#[derive(Debug, clap::Args)]
pub(crate) struct Message {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    words: WordsFlag,

    #[command(flatten)]
    format: FormatFlag,
}

impl Message {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let example = format!("`lamp message {} \"use the other library\"`", task.short);
        let text = self.words.read(&example)?;
        let task = client.message(&task.id, &SendMessage { text }).await.explained()?;
        told("The agent will read it.", &task, self.format, out)
    }
}
