//! `lamp usage`

use std::io::Write;

use serde::Serialize;
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::task::usage::{self as shape, Share, TaskUsage, UsageQuery};

use super::{World, named};
use crate::{
    amount,
    remote::ServerFlag,
    timeline::{put::put_line, words},
};

/// Show what a task cost and where, or what all of them did
///
/// As metered outside their sandboxes.
#[derive(Debug, clap::Args)]
pub(crate) struct Usage {
    #[command(flatten)]
    server: ServerFlag,

    /// The task: its id, a beginning of it that no other has, or `last`; all of them when it is left out
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// Only tasks of this repository
    #[arg(long, value_name = "NAME", conflicts_with = "task")]
    repo: Option<String>,

    #[command(flatten)]
    format: FormatFlag,
}

impl Usage {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let client = self.server.client(world.environment)?;
        let format = self.format.format();
        if let Some(task) = &self.task {
            let task = named::find(&client, task).await?;
            let usage = client.task_usage(&task.id).await.explained()?;
            shown(&usage, one, format, out)?;
        } else {
            let query = UsageQuery { repository: self.repo.clone() };
            let usage = client.usage(&query).await.explained()?;
            shown(&usage, all, format, out)?;
        }
        Ok(Exit::Done)
    }
}

fn shown<T: Serialize>(
    usage: &T,
    page: fn(&T) -> String,
    format: Format,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    match format {
        Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(usage))?)?,
        Format::People => write!(out, "{}", page(usage))?,
    }
    Ok(())
}

fn one(usage: &TaskUsage) -> String {
    let mut text = format!(
        "{:<10}  {:>9}  {:>10}  {:>10}  {:>8}  {:>9}\n",
        "PHASE", "MONEY", "TOKENS IN", "OUT", "CPU", "NETWORK"
    );
    let phases = usage.phases.iter().map(|it| (it.phase.as_str(), &it.spent));
    for (name, spent) in phases.chain([("all", &usage.total)]) {
        put_line!(
            text,
            "{:<10}  {:>9}  {:>10}  {:>10}  {:>8}  {:>9}",
            words::line(name, 20),
            words::line(&spent.money.text, 20),
            spent.input_tokens,
            spent.output_tokens,
            format!("{}.{}s", spent.cpu_millis / 1000, spent.cpu_millis / 100 % 10),
            amount::bytes(spent.network_bytes)
        );
    }
    text + &format!("It may spend {}.\n", words::line(&usage.budget.text, 20))
}

fn all(usage: &shape::Usage) -> String {
    if usage.tasks == 0 {
        return "No task has spent anything yet.\n".to_owned();
    }
    let tasks = amount::count(usage.tasks, "task");
    let mut text = format!("{tasks} spent {}.\n", words::line(&usage.spent.text, 20));
    for (title, shares) in [
        ("Repositories", &usage.repositories),
        ("Agents", &usage.agents),
        ("People", &usage.people),
    ] {
        put_line!(text, "\n{title}");
        for Share { name, tasks, spent } in shares {
            let tasks = amount::count(*tasks, "task");
            let (name, spent) = (words::line(name, 60), words::line(&spent.text, 20));
            put_line!(text, "  {name:<30}  {spent:>9}  {tasks:>9}");
        }
    }
    if usage.cut {
        text.push_str("\nThere are older tasks that were not counted.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use wire::{money::Money, task::usage::PhaseUsage};

    use super::*;
    use crate::timeline::samples;

    #[test]
    fn what_was_spent_is_told_by_phase_and_by_name() {
        let usage = TaskUsage {
            task: samples::ID.to_owned(),
            total: samples::spent(),
            budget: Money::from_micros(5_000_000),
            phases: vec![PhaseUsage { phase: "research".to_owned(), spent: samples::spent() }],
        };
        let share = |name: &str| Share {
            name: name.to_owned(),
            tasks: 1,
            spent: Money::from_micros(420_000),
        };
        let total = shape::Usage {
            spent: Money::from_micros(420_000),
            tasks: 1,
            repositories: vec![share("acme/web")],
            agents: vec![share("lamp")],
            people: vec![share("ann")],
            cut: true,
        };
        insta::assert_snapshot!([one(&usage), all(&total)].join("---\n"));
    }
}
