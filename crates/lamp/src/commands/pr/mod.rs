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

use wire::pull::{PullAuthor, PullState};

use crate::{
    commands::task::World, environment::Environment, exit::Exit, kept::block_on,
    remote::ServerFlag, terminal::Colors, timeline::words,
};

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

fn author(author: &PullAuthor) -> String {
    match author {
        PullAuthor::Platform {} => "lamp".to_owned(),
        PullAuthor::Person { name } => words::line(name, 60),
        PullAuthor::Unproven { name } => words::unproven(name),
    }
}

pub(crate) fn state(state: &PullState) -> String {
    match state {
        PullState::Draft {} => "draft".to_owned(),
        PullState::Open {} => "open".to_owned(),
        PullState::Merged { commit, by } => {
            format!("merged by {} as {}", author(by), words::short(commit))
        }
        PullState::Closed { by } => format!("closed by {}", author(by)),
    }
}
