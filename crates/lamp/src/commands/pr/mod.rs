//! `lamp pr`: the pull requests that tasks made, wherever the code lives.

mod close;
mod comment;
mod diff;
mod get;
mod list;
mod merge;
mod review;
#[cfg(test)]
pub(crate) mod samples;
mod which;

use std::io::Write;

use terminal::{colors::Colors, environment::Environment, exit::Exit};

use crate::{commands::task::World, kept::block_on, remote::ServerFlag};

/// Look at, review and merge the pull requests that tasks made
///
/// On plain git the server keeps them itself; a comment wakes the task, which goes on with the same branch.
#[derive(Debug, clap::Args)]
pub(crate) struct Pr {
    #[command(flatten)]
    server: ServerFlag,

    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    List(list::List),
    Get(get::Get),
    Diff(diff::Diff),
    Comment(comment::Comment),
    Review(review::Review),
    Merge(merge::Merge),
    Close(close::Close),
}

impl Pr {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let client = self.server.client(environment)?;
        let world = World::new(environment, colors);
        block_on(async {
            match &self.what {
                What::List(list) => list.run(&client, out).await,
                What::Get(get) => get.run(&client, world, out).await,
                What::Diff(diff) => diff.run(&client, world, out).await,
                What::Comment(comment) => comment.run(&client, out).await,
                What::Review(review) => review.run(&client, out).await,
                What::Merge(merge) => merge.run(&client, out).await,
                What::Close(close) => close.run(&client, out).await,
            }
        })
    }
}
