//! Which task a person means: its id, a beginning of it, or `last`.

use anyhow::{anyhow, bail};
use terminal::{
    environment::Environment,
    refusal::{Explained as _, explain},
    report::Hint,
};
use wire::{
    client::Client,
    error::Code,
    task::shown::{Task, TaskQuery, TaskSummary},
};

use crate::{remote::ServerFlag, timeline::words};

/// Stands for the newest task.
const LAST: &str = "last";

const PREFIX: &str = "t_";

/// How many tasks are named to somebody who meant another.
const CANDIDATES: usize = 8;

/// How far back these are looked for.
const LOOKED_AT: u32 = 200;

// No doc comment: it would become the help of every command that takes one.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Named {
    #[command(flatten)]
    server: ServerFlag,

    /// The task: its id, a beginning of it that no other has, or `last` for the newest
    #[arg(value_name = "TASK")]
    task: String,
}

impl Named {
    pub(super) async fn find(&self, environment: &Environment) -> anyhow::Result<(Client, Task)> {
        let client = self.server.client(environment)?;
        let task = find(&client, &self.task).await?;
        Ok((client, task))
    }
}

/// The task that is called so.
pub(crate) async fn find(client: &Client, called: &str) -> anyhow::Result<Task> {
    if called.trim().is_empty() {
        bail!(Hint::new(
            "no task is named",
            "write its id, a beginning of it, or `last` for the newest; `lamp list` shows them"
        ));
    }
    if called == LAST {
        let query = TaskQuery { limit: Some(1), ..TaskQuery::default() };
        let newest = client.tasks(&query).await.explained()?.tasks.into_iter().next();
        let newest = newest.ok_or_else(|| {
            anyhow!(Hint::new("there are no tasks yet", "hand one over: `lamp run \"…\"`"))
        })?;
        return client.task(&newest.id).await.explained();
    }
    // The letters before the underscore are the same for all.
    let id =
        if called.starts_with(PREFIX) { called.to_owned() } else { format!("{PREFIX}{called}") };
    let error = match client.task(&id).await {
        Ok(task) => return Ok(task),
        Err(error) => error,
    };
    let is_unclear =
        error.problem().is_some_and(|it| matches!(it.code, Code::NotFound | Code::BadRequest));
    if !is_unclear {
        return Err(explain(error));
    }
    let query = TaskQuery { limit: Some(LOOKED_AT), ..TaskQuery::default() };
    let known = client.tasks(&query).await.explained()?.tasks;
    Err(unclear(called, &id, &known))
}

/// Names those that could be meant.
fn unclear(called: &str, id: &str, known: &[TaskSummary]) -> anyhow::Error {
    let called = words::line(called, 60);
    let fitting: Vec<&TaskSummary> = known.iter().filter(|it| it.id.starts_with(id)).collect();
    match (fitting.as_slice(), known) {
        (_, []) => anyhow!(Hint::new(
            format!("there is no task `{called}`: there are none yet"),
            "hand one over: `lamp run \"…\"`"
        )),
        ([], known) => anyhow!(Hint::new(
            format!("there is no task `{called}`"),
            format!("these are the newest:\n{}", candidates(known.iter()))
        )),
        (fitting, _) => anyhow!(Hint::new(
            format!("several tasks begin with `{called}`"),
            format!("write more of one of these:\n{}", candidates(fitting.iter().copied()))
        )),
    }
}

fn candidates<'t>(tasks: impl Iterator<Item = &'t TaskSummary>) -> String {
    let lines: Vec<String> = tasks
        .take(CANDIDATES)
        .map(|it| format!("  {}  {:<21}  {}", it.short, it.state, words::line(&it.title, 60)))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use terminal::{colors::Colors, report};

    use super::*;

    fn told(called: &str, id: &str, known: &[TaskSummary]) -> String {
        let mut out = Vec::new();
        report::print(&unclear(called, id, known), Colors::OFF, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn whoever_means_another_task_is_shown_those_that_there_are() {
        let known = super::super::list::samples();
        let told = [
            told("t_9999", "t_9999", &known),
            told("01jb", "t_01jb", &known),
            told("t_9999", "t_9999", &[]),
        ];
        insta::assert_snapshot!(told.join("---\n"));
    }
}
