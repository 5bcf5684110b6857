//! `lamp pr list`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::{
    client::Client,
    pull::{Pull, PullState, Pulls},
};

use super::which::repository;
use crate::{
    commands::task::columns,
    timeline::{put::put_line, words},
};

/// List the pull requests of a repository, the newest first
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// The repository [default: the one that you are in]
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,

    #[command(flatten)]
    format: FormatFlag,
}

impl List {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let repository = repository(self.repo.as_deref())?;
        let pulls = client.pulls(&repository).await.explained()?;
        match self.format.format() {
            Format::Json => {
                writeln!(out, "{}", words::json_page(&Versioned::new(Pulls { pulls }))?)?;
            }
            Format::People => write!(out, "{}", table(&repository, &pulls, columns()))?,
        }
        Ok(Exit::Done)
    }
}

/// Characters of how one stands: `merged by ann as 4b825dc642cb`. Its branch is on its own page.
const STATE: usize = 34;

fn table(repository: &str, pulls: &[Pull], columns: usize) -> String {
    let repository = words::line(repository, 200);
    if pulls.is_empty() {
        return format!("`{repository}` has no pull requests here.\n");
    }
    let mut text = format!("{:>6}  {:<STATE$}  TITLE\n", "NUMBER", "STATE");
    for pull in pulls {
        let stands = words::line(&words::pull_state(&pull.state), STATE);
        let title = words::line(&pull.title, columns.saturating_sub(6 + 2 + STATE + 2).max(20));
        put_line!(text, "{:>6}  {stands:<STATE$}  {title}", pull.number);
    }
    let waits = |pull: &&Pull| matches!(pull.state, PullState::Draft {} | PullState::Open {});
    if let Some(pull) = pulls.iter().find(waits) {
        put_line!(text, "`lamp pr get {} --repo {repository}` shows one.", pull.number);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::pr::samples;

    #[test]
    fn a_list_says_how_each_stands() {
        let told = [table("acme/web", &[samples::pull()], 80), table("acme/web", &[], 80)];
        insta::assert_snapshot!(told.concat());
    }
}
