//! Follows one task until it stands still, and asks whoever watches when it waits for them.

use std::{pin::pin, time::Duration};

use anyhow::Context as _;
use contracts::clock::{Clock as _, SystemClock};
use terminal::refusal::{Explained as _, explain};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::MissedTickBehavior,
};
use wire::{
    client::{Client, ClientError},
    error::Code,
    task::{
        ask::{AnswerQuestion, Approve, Reject},
        plan::Conditions,
        shown::{Standing, Task},
        stream::{Cursor, StreamItem},
        transcript::PageQuery,
    },
    time::Time,
};

use super::{
    Ending, Keyboard, Page, Said,
    gate::{ask_about_plan, ask_for_answer, details},
    keys::{Keys, Pressed},
    put::put,
    words,
};

/// How often a status moves.
const FRAME: Duration = Duration::from_millis(120);

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// It waits for a person, its pull request is open, or it is over.
    Rests,
    /// The same, and its plan is all that is wanted.
    PlanReady,
    /// Nothing more happens.
    Over,
    /// All that has happened so far was told.
    Now,
}

/// Who watches.
pub(crate) enum Company {
    /// Somebody who can be asked.
    Person(Keyboard),
    Nobody,
}

pub(crate) struct Watching<'c> {
    pub(crate) client: &'c Client,
    pub(crate) task: Task,
    pub(crate) from: Cursor,
    pub(crate) until: Until,
    pub(crate) company: Company,
}

/// How it ended, and the task as it stands then.
pub(crate) async fn watch(
    mut watching: Watching<'_>,
    page: &mut Page<'_>,
) -> anyhow::Result<(Ending, Task)> {
    let client = watching.client;
    let mut stream = client.watch_task(&watching.task.id, watching.from);
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to signals")?;
    let mut keys = Keys::default();
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // What agents said so far, as far as it was asked.
    let mut said = 0;
    loop {
        // What agents said last is told before anybody is asked or it ends; of one that is followed to its end, the stream says that.
        let is_still = match watching.until {
            Until::Now => true,
            Until::Rests | Until::PlanReady => Ending::of(&watching.task).is_some(),
            Until::Over => false,
        };
        if is_still && stream.cursor().transcript >= said {
            said = watching.said(stream.cursor()).await?;
        }
        if stream.cursor().events >= watching.task.events && stream.cursor().transcript >= said {
            match watching.rests(page, &mut keys).await? {
                Rest::Goes => {}
                Rest::Changed => continue,
                Rest::Ends(ending) => {
                    page.task(&watching.task)?;
                    return Ok((ending, watching.task));
                }
            }
        }
        if page.moves() {
            keys.listen();
        }
        let heard = {
            // Kept through all frames: a connection that is being opened is not begun again with each.
            let mut next = pin!(stream.next());
            loop {
                tokio::select! {
                    heard = &mut next => break heard,
                    _ = frames.tick(), if page.moves() => {
                        if keys.pressed() == Pressed::Leave {
                            page.task(&watching.task)?;
                            return Ok((Ending::Left, watching.task));
                        }
                        page.status(&status(&watching.task, now()))?;
                    }
                    _ = interrupt.recv() => {
                        page.task(&watching.task)?;
                        return Ok((Ending::Left, watching.task));
                    }
                }
            }
        };
        match heard {
            Ok(Some(item)) => {
                page.item(&item)?;
                watching.heard(&item).await?;
            }
            Ok(None) => {
                watching.task = client.task(&watching.task.id).await.explained()?;
                page.task(&watching.task)?;
                let ending = Ending::of(&watching.task).unwrap_or(Ending::Left);
                return Ok((ending, watching.task));
            }
            Err(ClientError::Refused(problem)) if problem.code == Code::Stopped => {
                page.text("The server was stopped; waiting for it to run again.\n")?;
            }
            Err(error) => {
                page.text("")?;
                return Err(explain(error).context(terminal::report::Hint::new(
                    format!(
                        "lost sight of task {}; it goes on without being watched",
                        watching.task.short
                    ),
                    format!("`lamp log -f {}` follows it again", watching.task.short),
                )));
            }
        }
    }
}

/// What becomes of a task that was looked at.
enum Rest {
    /// It does not rest.
    Goes,
    /// Something was said to it, and it has to be looked at again.
    Changed,
    Ends(Ending),
}

impl Watching<'_> {
    /// What is new about the task because of an item.
    async fn heard(&mut self, item: &StreamItem) -> anyhow::Result<()> {
        let is_new = match item {
            StreamItem::Event { event, .. } => event.number > self.task.events,
            // Its place in the queue may have changed.
            StreamItem::Heartbeat { .. } => self.task.standing == Standing::Queued,
            StreamItem::Transcript { .. } | StreamItem::End { .. } | StreamItem::Failed { .. } => {
                false
            }
        };
        if is_new {
            self.task = self.client.task(&self.task.id).await.explained()?;
        }
        Ok(())
    }

    /// How far the transcript goes behind what was told of it; no farther than a page.
    async fn said(&self, told: Cursor) -> anyhow::Result<u64> {
        let query = PageQuery { after: Some(told.transcript), limit: Some(500) };
        let page = self.client.task_transcript(&self.task.id, query).await.explained()?;
        Ok(page.next)
    }

    async fn rests(&mut self, page: &mut Page<'_>, keys: &mut Keys) -> anyhow::Result<Rest> {
        let resting = Ending::of(&self.task);
        match (self.until, resting) {
            (Until::Now, _) => Ok(Rest::Ends(resting.unwrap_or(Ending::Well))),
            // Of one that is over, the stream itself says when its last word was told.
            (_, None) | (Until::Over, Some(_)) => Ok(Rest::Goes),
            (Until::PlanReady, Some(_)) if self.task.plan_waiting.is_some() => {
                let plan = self.client.task_plan(&self.task.id).await.explained()?;
                page.plan(&plan.plan)?;
                Ok(Rest::Ends(Ending::Well))
            }
            (Until::Rests | Until::PlanReady, Some(ending)) => {
                keys.rest();
                self.asked(ending, page).await
            }
        }
    }

    /// Asks the person, if there is one and the task waits for them.
    async fn asked(&mut self, ending: Ending, page: &mut Page<'_>) -> anyhow::Result<Rest> {
        let Company::Person(keyboard) = &mut self.company else { return Ok(Rest::Ends(ending)) };
        let (client, id) = (self.client, self.task.id.as_str());
        let answered = if let Some(question) = &self.task.question {
            let Some(text) = ask_for_answer(page, keyboard, question).await? else {
                return Ok(Rest::Ends(ending));
            };
            let wish = AnswerQuestion { question: Some(question.id.clone()), text };
            client.answer(id, &wish).await
        } else if self.task.plan_waiting.is_some() {
            let plan = client.task_plan(id).await.explained()?.plan;
            page.plan(&plan)?;
            let details = details(&self.task);
            match ask_about_plan(page, keyboard, &details).await? {
                Said::Leave => return Ok(Rest::Ends(ending)),
                // The hash of what was shown: when another plan waits by now, nothing is approved.
                Said::Approve => {
                    let wish = Approve { plan: plan.hash, conditions: Conditions::default() };
                    client.approve(id, &wish).await
                }
                Said::Reject(comment) => {
                    client.reject(id, &Reject { plan: plan.hash, comment }).await
                }
            }
        } else {
            return Ok(Rest::Ends(ending));
        };
        match answered {
            Ok(task) => self.task = task,
            // Somebody else was faster, or it is not for this person to say.
            Err(ClientError::Refused(problem)) => {
                page.text(&format!("Refused: {}.\n", words::line(&problem.message, 400)))?;
                let is_late = matches!(problem.code, Code::Stale | Code::NotNow);
                if !is_late {
                    return Ok(Rest::Ends(ending));
                }
                self.task = client.task(id).await.explained()?;
            }
            Err(error) => return Err(explain(error)),
        }
        Ok(Rest::Changed)
    }
}

fn now() -> Time {
    Time::from_millis(SystemClock.now().as_millis())
}

/// What it does, since when, and what it has cost.
fn status(task: &Task, now: Time) -> String {
    let mut status = format!("{}  {}", task.state, words::took(words::between(task.since, now)));
    if let Some(queue) = &task.queue {
        put!(status, "  place {}: {}", queue.place, words::line(&queue.reason, 100));
    }
    if let Some(attempt) = task.attempt.filter(|attempt| *attempt > 1) {
        put!(status, "  attempt {attempt}");
    }
    if task.spent.money.micros > 0 {
        put!(status, "  {} of {}", task.spent.money.text, task.budget.text);
    }
    words::line(&status, 300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn a_status_says_what_it_does_since_when_and_for_how_much() {
        let mut task = Task { state: "implementing".to_owned(), ..samples::pull_request_open() };
        let now = Time::from_millis(task.since.as_millis() + 72_000);
        assert_eq!(status(&task, now), "implementing 1m 12s $0.42 of $5.00");
        task.attempt = Some(2);
        assert_eq!(status(&task, now), "implementing 1m 12s attempt 2 $0.42 of $5.00");
    }
}
