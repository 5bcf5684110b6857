//! `lamp open`: where to look.

use std::io::Write;

use serde::Serialize;
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::{pull::Pull, task::shown::Task};

use super::{World, named::Named};
use crate::timeline::{next_steps, words};

/// Say where the work of a task is: its pull request, its branch, its sandbox
#[derive(Debug, clap::Args)]
pub(crate) struct Open {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Places<'t> {
    task: &'t str,
    pull_request: Option<u64>,
    address: Option<&'t str>,
    branch: Option<&'t str>,
    commit: Option<&'t str>,
    sandbox: Option<&'t str>,
}

impl Open {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let pull = match (task.pull_request, task.repositories.first()) {
            (Some(number), Some(repository)) => {
                Some(client.pull(&repository.name, number).await.explained()?)
            }
            (Some(_) | None, _) => None,
        };
        let places = places(&task, pull.as_ref());
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&places))?)?,
            Format::People => write!(out, "{}{}", page(&places), next_steps(&task))?,
        }
        Ok(Exit::Done)
    }
}

fn places<'t>(task: &'t Task, pull: Option<&'t Pull>) -> Places<'t> {
    Places {
        task: &task.id,
        pull_request: task.pull_request,
        address: pull.map(|it| it.address.as_str()),
        branch: task.branch.as_deref(),
        commit: task.commit.as_deref(),
        sandbox: task.sandbox.as_deref(),
    }
}

fn page(places: &Places<'_>) -> String {
    let number = places.pull_request.map(|it| format!("#{it}"));
    let rows = [
        ("pull request", number.as_deref()),
        ("at", places.address.filter(|it| !it.starts_with("lamp "))),
        ("branch", places.branch),
        ("commit", places.commit),
        ("sandbox", places.sandbox),
    ];
    let known: Vec<String> = rows
        .iter()
        .filter_map(|(name, value)| Some(format!("{name:<12}  {}\n", words::line((*value)?, 300))))
        .collect();
    if known.is_empty() {
        return "There is nothing to look at yet.\n".to_owned();
    }
    known.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn it_says_where_to_look() {
        let full = page(&places(&samples::pull_request_open(), None));
        let none = page(&places(&samples::waiting_for_approval(), None));
        insta::assert_snapshot!(full + &none);
    }
}
