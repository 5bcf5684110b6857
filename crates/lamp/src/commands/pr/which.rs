//! Which pull request is meant: its number and repository, or the task that made it.

use anyhow::anyhow;
use terminal::report::Hint;
use wire::client::Client;

use crate::commands::task::{find, here};

// No doc comment: it would become the help of every command that takes one.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Which {
    /// Its number, or the task that made it
    #[arg(value_name = "NUMBER|TASK")]
    pull: String,

    /// The repository [default: the one that you are in, or the task's]
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
}

/// Numbers have fewer digits than what a task's id begins with.
const DIGITS: usize = 9;

impl Which {
    pub(super) async fn find(&self, client: &Client) -> anyhow::Result<(String, u64)> {
        if let Ok(number) = self.pull.parse::<u64>()
            && self.pull.len() <= DIGITS
        {
            return Ok((repository(self.repo.as_deref())?, number));
        }
        let task = find(client, &self.pull).await?;
        let number = task.pull_request.ok_or_else(|| {
            anyhow!(Hint::new(
                format!("task {} has no pull request: it is {}", task.short, task.state),
                task.next.sentence.clone()
            ))
        })?;
        let repository = task.repositories.first().map(|it| it.name.clone());
        Ok((repository.ok_or_else(|| anyhow!("the task names no repository"))?, number))
    }
}

/// The one that was named, or the one that we stand in.
pub(super) fn repository(named: Option<&str>) -> anyhow::Result<String> {
    match named {
        Some(name) => Ok(name.to_owned()),
        None => Ok(here()?.0),
    }
}
