//! What must be true when all tasks have come to their end, whatever was killed on the way (RE1).

use std::{collections::BTreeMap, fmt};

use contracts::{
    agent::Agents as _,
    sandbox::{Owner, Sandboxes as _},
};
use domain::{
    cost::Cost,
    id::TaskId,
    task::{Event, Standing},
};
use store::Store;

use crate::{
    clock::AnyClock,
    ledger::Ledger,
    world::{ScriptedAgents, ScriptedSandboxes},
};

/// The three numbers that must be zero, with what they count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub tasks: usize,
    pub lost: Vec<String>,
    pub doubled: Vec<String>,
    pub orphans: Vec<String>,
    /// Calls that were made more often than once. Harmless: that is what keys are for.
    pub repeated_calls: usize,
}

impl Verdict {
    pub const fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.doubled.is_empty() && self.orphans.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tasks: {} lost, {} doubled, {} orphans ({} calls repeated, harmlessly)",
            self.tasks,
            self.lost.len(),
            self.doubled.len(),
            self.orphans.len(),
            self.repeated_calls
        )?;
        let kinds = [("lost", &self.lost), ("doubled", &self.doubled), ("orphan", &self.orphans)];
        for (kind, list) in kinds {
            for one in list.iter().take(20) {
                write!(f, "\n  {kind}: {one}")?;
            }
        }
        Ok(())
    }
}

/// Compares what the store remembers with what the outside has seen.
pub async fn inspect(store: &Store, ledger: &Ledger, tasks: &[TaskId]) -> anyhow::Result<Verdict> {
    let mut verdict = Verdict { tasks: tasks.len(), ..Verdict::default() };
    let last_words = last_words(ledger)?;
    // A branch is the task's name and some words: `agent|t_…-fix-the-login`.
    let task_of = |name: &'_ String| {
        let branch = name.rsplit('|').next()?;
        Some(branch.split_once('-').map_or(branch, |(task, _)| task).to_owned())
    };
    let pulls: Vec<String> = ledger.names("pull")?.iter().filter_map(task_of).collect();
    let pulls = count_by(pulls.iter().map(String::as_str));
    let (agents, sandboxes) = (
        ScriptedAgents::new(ledger.clone(), AnyClock::System),
        ScriptedSandboxes::new(ledger.clone()),
    );
    for task in tasks {
        let name = task.to_string();
        let outside = Outside {
            last_words: last_words.get(&name).copied().unwrap_or_default(),
            bill: agents.bill(*task).await? + sandboxes.bill(&Owner::Task(*task)).await?,
            pulls: pulls.get(&name).copied().unwrap_or_default(),
        };
        inspect_one(store, *task, &outside, &mut verdict).await?;
        for grant in ledger.names(&format!("grant-{task}"))? {
            verdict.orphans.push(format!("{task}: credentials are still granted, {grant}"));
        }
    }
    for name in ledger.names("sandbox")? {
        verdict.orphans.push(format!("sandbox {name}"));
    }
    let calls = ledger.calls()?;
    let calls = count_by(calls.iter().map(String::as_str));
    verdict.repeated_calls = calls.values().map(|count| count - 1).sum();
    Ok(verdict)
}

fn count_by<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

/// How often the end of each task was told.
fn last_words(ledger: &Ledger) -> anyhow::Result<BTreeMap<String, usize>> {
    let last = ["task.completed", "task.failed", "task.cancelled"];
    let told = ledger.names("told")?;
    let is_last = |name: &&String| {
        let news = ledger.read("told", name).unwrap_or_default();
        last.iter().any(|name| news.starts_with(name))
    };
    Ok(count_by(told.iter().filter(is_last).filter_map(|name| name.split('|').next())))
}

struct Outside {
    last_words: usize,
    /// What the meters say.
    bill: Cost,
    pulls: usize,
}

async fn inspect_one(
    store: &Store,
    id: TaskId,
    outside: &Outside,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let history = store.history(id).await?;
    let Some(task) = history.task() else {
        verdict.lost.push(format!("{id} has no events"));
        return Ok(());
    };
    let mut lose = |what: String| verdict.lost.push(format!("{id}: {what}"));
    if task.stage.standing() != Standing::Over {
        lose(format!("still {}", task.stage.name()));
    }
    let gapless = history.events.iter().zip(1..).all(|(recorded, seq)| recorded.seq == seq);
    if !gapless {
        lose("its events have gaps".to_owned());
    }
    match store.task(id).await? {
        Some(view) if view.stage == task.stage.name() && view.seq == history.seq() => {}
        Some(view) => {
            lose(format!("its view says {}, its events {}", view.stage, task.stage.name()));
        }
        None => lose("it is in no list".to_owned()),
    }
    if outside.last_words == 0 {
        lose("nobody was told how it ended".to_owned());
    }
    if outside.bill.since(task.spent) != Cost::ZERO {
        lose(compared(outside.bill, task.spent));
    }
    let delivered = count(&history, |event| matches!(event, Event::PullRequestOpened { .. }));
    if delivered > 0 && outside.pulls == 0 {
        lose("its pull request does not exist".to_owned());
    }

    let mut double = |what: String| verdict.doubled.push(format!("{id}: {what}"));
    if outside.pulls > 1 {
        double(format!("{} pull requests", outside.pulls));
    }
    let ends =
        count(&history, |event| matches!(event, Event::Done { .. } | Event::Cancelled { .. }));
    if ends > 1 {
        double(format!("ended {ends} times"));
    }
    if outside.last_words > 1 {
        double(format!("its end was told {} times", outside.last_words));
    }
    if task.spent.since(outside.bill) != Cost::ZERO {
        double(compared(outside.bill, task.spent));
    }
    let approvals = count(&history, |event| matches!(event, Event::Approved { .. }));
    if approvals > 1 {
        double(format!("approved {approvals} times"));
    }
    for pending in store.pending(id).await? {
        verdict.orphans.push(format!("{id}: {:?} is still to be done", pending.step));
    }
    Ok(())
}

fn compared(bill: Cost, written: Cost) -> String {
    let in_words = |cost: Cost| format!("{} and {} ms of a processor", cost.money, cost.cpu_millis);
    format!("{} used, {} written down", in_words(bill), in_words(written))
}

fn count(history: &store::History, is: impl Fn(&Event) -> bool) -> usize {
    history.events.iter().filter(|recorded| is(&recorded.event)).count()
}
