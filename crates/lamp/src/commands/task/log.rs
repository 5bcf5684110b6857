//! `lamp log`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag},
};
use wire::task::stream::Cursor;

use super::{World, named::Named};
use crate::timeline::{
    Company, EXIT_CODES, Ending, Page, Until, Watching, last_words, next_steps, watch,
};

/// Show what happened to a task, and follow it with `-f`
///
/// On a terminal: phases with their times, and what agents do. Elsewhere: a line for each event, with its time and its name. With `--json`:
/// one document on a line, each with its `cursor`; `--after CURSOR` goes on behind it. `lamp log -f TASK` is how a script waits: it ends as
/// `lamp run` does, when the task waits for a person, is paused, has an open pull request or is over, and its exit code says which; what can be typed
/// next comes last. A connection that breaks is opened again where it was, and on a terminal `q` or Ctrl-C leaves.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Log {
    #[command(flatten)]
    named: Named,

    /// Go on until the task needs somebody or is over
    #[arg(short, long)]
    follow: bool,

    /// Go on while the task waits for people too, until it is over
    #[arg(long)]
    forever: bool,

    /// Only what came after this cursor, such as `12.345`
    #[arg(long, value_name = "CURSOR", default_value = "0.0", hide_default_value = true)]
    after: Cursor,

    #[command(flatten)]
    format: FormatFlag,
}

impl Log {
    pub(super) async fn run(
        &self,
        world: World<'_>,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let format = self.format.format();
        let until = match (self.forever, self.follow) {
            (true, _) => Until::Over,
            (false, true) => Until::Rests,
            (false, false) => Until::Now,
        };
        let mut page = Page::new(world.audience(format), world.colors, out);
        let watching =
            Watching { client: &client, task, from: self.after, until, company: Company::Nobody };
        let (ending, task) = watch(watching, &mut page).await?;
        if format == Format::People {
            // As of `lamp run`: what comes last on a terminal is what is read, and elsewhere lines stay lines of events.
            match (until, page.moves()) {
                (Until::Now, true) => page.text(&format!("\n{}", next_steps(&task)))?,
                (Until::Now, false) => {}
                (Until::Rests | Until::PlanReady | Until::Over, true) => {
                    page.text(&last_words(ending, &task))?;
                }
                (Until::Rests | Until::PlanReady | Until::Over, false) => {
                    write!(err, "{}", last_words(ending, &task))?;
                }
            }
        }
        Ok(if until == Until::Now && ending != Ending::Left { Exit::Done } else { ending.exit() })
    }
}
