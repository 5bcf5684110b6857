//! `lamp list`

use std::io::Write;

use contracts::clock::{Clock as _, SystemClock};
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::{
    task::{
        TaskSummary,
        shown::{TaskList, TaskQuery},
    },
    time::Time,
};

use super::{World, world::columns};
use crate::{
    remote::ServerFlag,
    timeline::{
        put::{put, put_line},
        words,
    },
};

/// Tasks on the first page.
const FIRST: u32 = 30;

/// Tasks of one call when all are wanted.
const MANY: u32 = 500;

/// List tasks, the newest first
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    server: ServerFlag,

    /// Only those in this state, such as `awaiting-approval`, `paused` or `failed`
    #[arg(long, value_name = "STATE")]
    state: Option<String>,

    /// Only those of this repository, such as `acme/web`
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,

    /// All of them, not only the newest 30
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    format: FormatFlag,
}

impl List {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let client = self.server.client(world.environment)?;
        let state = self.state.as_ref().map(|state| state.replace('-', "_"));
        let limit = Some(if self.all { MANY } else { FIRST });
        let mut query = TaskQuery { state, repository: self.repo.clone(), limit, after: None };
        let mut list = client.tasks(&query).await.explained()?;
        while self.all && list.next.is_some() {
            query.after = list.next.take();
            let page = client.tasks(&query).await.explained()?;
            list.tasks.extend(page.tasks);
            list.next = page.next;
        }
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&list))?)?,
            Format::People => {
                let now = Time::from_millis(SystemClock.now().as_millis());
                let is_narrowed = self.state.is_some() || self.repo.is_some();
                write!(out, "{}", table(&list, now, columns(), is_narrowed))?;
            }
        }
        Ok(Exit::Done)
    }
}

/// Characters of what is asked for, on however narrow a terminal.
const LEAST: usize = 8;

/// What stands before what is asked for. The first unit of a time is enough to see which waits longest.
fn row(it: &TaskSummary, now: Time) -> [String; 5] {
    let took = words::took(words::between(it.since, now));
    let since = took.split(' ').next().unwrap_or_default().to_owned();
    let state = match (&it.failure, it.pull_request) {
        (Some(failure), _) => format!("{}: {failure}", it.state),
        (None, Some(number)) if it.state == "pull request open" => {
            format!("pull request #{number}")
        }
        (None, _) => it.state.clone(),
    };
    [
        words::line(&it.short, 14),
        words::line(&state, 21),
        since,
        words::line(&it.repository, 16),
        words::line(&it.spent.text, 12),
    ]
}

fn table(list: &TaskList, now: Time, columns: usize, is_narrowed: bool) -> String {
    if list.tasks.is_empty() && is_narrowed {
        return "No task is like that. `lamp list` shows all states and repositories.\n".to_owned();
    }
    if list.tasks.is_empty() {
        return "There are no tasks yet. `lamp run \"…\"`, in a git repository, hands one over.\n"
            .to_owned();
    }
    let rows: Vec<[String; 5]> = list.tasks.iter().map(|it| row(it, now)).collect();
    let head = ["TASK", "STATE", "SINCE", "REPOSITORY", "SPENT"].map(str::to_owned);
    // Each column is as wide as what stands in it; what is asked for gets the rest of the line.
    let mut widths = [0; 5];
    for cells in rows.iter().chain([&head]) {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let left = columns.saturating_sub(widths.iter().sum::<usize>() + 2 * widths.len());
    let titles = list.tasks.iter().map(|it| words::line(&it.title, left.max(LEAST)));
    let mut text = String::new();
    for (cells, title) in std::iter::once((&head, "WHAT".to_owned())).chain(rows.iter().zip(titles))
    {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            put!(line, "{cell:<width$}  ");
        }
        line.push_str(&title);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if list.next.is_some() {
        text.push_str("There are older ones: `lamp list --all` shows them.\n");
    }
    let waits = list.tasks.iter().find(|it| it.plan_waiting.is_some());
    if let Some(waits) = waits {
        put_line!(text, "A plan waits for a decision: `lamp plan {}` shows it.", waits.short);
    }
    text
}

#[cfg(test)]
pub(crate) fn samples() -> Vec<TaskSummary> {
    use crate::timeline::samples as sample;
    let task = sample::pull_request_open();
    let first = TaskSummary {
        id: task.id,
        short: task.short,
        state: task.state,
        title: task.title,
        repository: "acme/web".to_owned(),
        requester: sample::ann(),
        agent: task.agent,
        channel: task.channel,
        parent: None,
        plan_waiting: None,
        failure: None,
        pull_request: Some(7),
        spent: task.spent.money,
        created_at: task.created_at,
        changed_at: task.changed_at,
        since: task.since,
    };
    let second = TaskSummary {
        id: "t_01jbrt5cy4gzf8z40j6hb7h6nw".to_owned(),
        short: "t_01jbrt5cy4gz".to_owned(),
        state: "paused".to_owned(),
        title: "translate\u{1b}[2J the page".to_owned(),
        failure: Some("test_loop".to_owned()),
        plan_waiting: Some(sample::HASH.to_owned()),
        pull_request: None,
        ..first.clone()
    };
    vec![first, second]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples::at;

    #[test]
    fn a_list_says_where_each_task_stands() {
        let list = TaskList { tasks: samples(), next: Some("t_1".to_owned()) };
        insta::assert_snapshot!(table(&list, at(300), 80, false));
        let none = TaskList { tasks: Vec::new(), next: None };
        insta::assert_snapshot!(table(&none, at(0), 80, false) + &table(&none, at(0), 80, true));
    }
}
