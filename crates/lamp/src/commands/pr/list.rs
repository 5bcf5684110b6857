//! `lamp pr list`

use std::io::Write;

use wire::{
    client::Client,
    pull::{Pull, PullState, Pulls},
};

use super::{state, which::repository};
use crate::timeline::put::put_line;
use crate::{
    commands::sandbox::Versioned,
    exit::Exit,
    format::{Format, FormatFlag},
    remote::Explained as _,
    timeline::words,
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
            Format::People => write!(out, "{}", table(&repository, &pulls))?,
        }
        Ok(Exit::Done)
    }
}

fn table(repository: &str, pulls: &[Pull]) -> String {
    let repository = words::line(repository, 200);
    if pulls.is_empty() {
        return format!("`{repository}` has no pull requests here.\n");
    }
    let mut text = format!("{:>6}  {:<34}  {:<40}  BRANCH\n", "NUMBER", "STATE", "TITLE");
    for pull in pulls {
        put_line!(
            text,
            "{:>6}  {:<34}  {:<40}  {}",
            pull.number,
            words::line(&state(&pull.state), 60),
            words::line(&pull.title, 60),
            words::line(&pull.branch, 100)
        );
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
        let told = [table("acme/web", &[samples::pull()]), table("acme/web", &[])];
        insta::assert_snapshot!(told.concat());
    }
}
