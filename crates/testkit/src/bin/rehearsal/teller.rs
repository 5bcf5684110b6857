//! Tells what happens to the task, as it happens: by reading its events, like every other reader.

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use contracts::clock::{Clock as _, SystemClock};
use domain::{
    id::TaskId,
    plan::Plan,
    question::Question,
    task::{Event, Stage, Task},
    time::Timestamp,
};
use store::{Recorded, Store};

use crate::{
    paper::{Ink, Paper},
    timeline,
};

/// The engine is another process, so nobody in this one is told of its events.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longer than any machine takes. Something is wrong then.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct Teller {
    store: Arc<Store>,
    task: TaskId,
    begun: Timestamp,
    told: Vec<Recorded>,
}

impl Teller {
    pub(crate) const fn new(store: Arc<Store>, task: TaskId, begun: Timestamp) -> Self {
        Self { store, task, begun, told: Vec::new() }
    }

    /// Tells everything until the task stands where `enough` says.
    pub(crate) async fn until(
        &mut self,
        paper: &Paper,
        enough: impl Fn(&Stage) -> bool,
    ) -> anyhow::Result<()> {
        let deadline = SystemClock.now() + PATIENCE;
        loop {
            self.catch_up(paper).await?;
            if self.now().is_some_and(|task| enough(&task.stage)) {
                return Ok(());
            }
            ensure!(SystemClock.now() < deadline, "nothing happens any more; this is a bug");
            SystemClock.sleep_until(SystemClock.now() + LOOK_EVERY).await;
        }
    }

    /// Tells what has happened and was not told yet.
    pub(crate) async fn catch_up(&mut self, paper: &Paper) -> anyhow::Result<()> {
        for recorded in self.store.events_after(self.task, self.seq(), i64::MAX).await? {
            let (words, ink) = timeline::words(self.now().as_ref(), &recorded.event);
            let at = recorded.at.since(self.begun).as_secs_f64();
            self.told.push(recorded);
            let stage = self.now().map_or("", |task| task.stage.name());
            let time = paper.ink(Ink::Quiet, format_args!("{at:>7.2} s"));
            paper.line(format_args!("{time}  {stage:<22} {}", paper.ink(ink, words)))?;
            paper.breathe().await;
        }
        Ok(())
    }

    pub(crate) fn now(&self) -> Option<Task> {
        Task::replay(self.told.iter().map(|recorded| &recorded.event))
    }

    /// The number of the last event that was told.
    pub(crate) fn seq(&self) -> u64 {
        self.told.last().map_or(0, |recorded| recorded.seq)
    }

    pub(crate) fn newest_question(&self) -> Option<&Question> {
        self.told.iter().rev().find_map(|recorded| {
            let Event::QuestionAsked { question, .. } = &recorded.event else { return None };
            Some(question)
        })
    }

    pub(crate) fn newest_plan(&self) -> Option<&Plan> {
        self.told.iter().rev().find_map(|recorded| {
            let Event::PlanSubmitted { plan, .. } = &recorded.event else { return None };
            Some(plan)
        })
    }
}
