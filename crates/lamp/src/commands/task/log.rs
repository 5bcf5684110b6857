//! `lamp log`

use std::io::Write;

use wire::task::stream::Cursor;

use super::{World, named::Named};
use crate::{
    exit::Exit,
    format::{Format, FormatFlag},
    timeline::{Company, Ending, Page, Until, Watching, next_steps, watch},
};

/// Show what happened to a task, and follow it with `-f`
///
/// On a terminal: phases with their times, and what agents do. Elsewhere: a line for each event, with its time and its name. With `--json`:
/// one document on a line, each with its `cursor`; `--after CURSOR` goes on behind it. With `-f` it ends when the task is over, with the exit
/// code of `lamp run`; a connection that breaks is opened again where it was.
#[derive(Debug, clap::Args)]
pub(crate) struct Log {
    #[command(flatten)]
    named: Named,

    /// Go on until the task is over
    #[arg(short, long)]
    follow: bool,

    /// Only what came after this cursor, such as `12.345`
    #[arg(long, value_name = "CURSOR", default_value = "0.0", hide_default_value = true)]
    after: Cursor,

    #[command(flatten)]
    format: FormatFlag,
}

impl Log {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let format = self.format.format();
        let until = if self.follow { Until::Over } else { Until::Now };
        let mut page = Page::new(world.audience(format), world.colors, out);
        let watching =
            Watching { client: &client, task, from: self.after, until, company: Company::Nobody };
        let (ending, task) = watch(watching, &mut page).await?;
        if format == Format::People && page.moves() {
            page.text(&format!("\n{}", next_steps(&task)))?;
        }
        Ok(if self.follow || ending == Ending::Left { ending.exit() } else { Exit::Done })
    }
}
