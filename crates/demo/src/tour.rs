//! The demo itself: hands over the task, tells what happens, and has the person decide.
//!
//! ```text
//!  begin ──▶ watch the stream ──▶ plan: yes? ──▶ … ──▶ pull request ──▶ receipt ──▶ usage ──▶ merge: yes? ──▶ the task is done
//!                  └── a failure, or a no: told, and the exit code is 1
//! ```

use std::io::Write;

use anyhow::{Context as _, bail};
use contracts::ids::{IdSource as _, SystemIds};
use terminal::{colors::Colors, exit::Exit, refusal::Explained as _};
use wire::{
    client::{Client, TaskStream},
    pull::{MergePull, Pull},
    secret::SetSecret,
    task::{
        ask::{AnswerQuestion, Approve},
        event::{PauseReason, RecordedEvent, TaskEvent},
        new::{NewRepository, NewTask},
        plan::{Conditions, Plan},
        shown::{Failure, Question, Task},
        stream::{Cursor, StreamItem},
    },
};

use super::{
    Checks,
    ground::Ground,
    mind::{Mind, Real},
    pages,
    person::{Decision, Person},
    receipt::{self, Delivered},
    sample,
    stage::Stopwatch,
    voice::{Voice, shortened},
};

/// All that the demo needs while it goes on.
pub(crate) struct Tour<'a, W> {
    pub(crate) client: &'a Client,
    pub(crate) ground: &'a Ground,
    pub(crate) person: Person,
    pub(crate) checks: Checks,
    pub(crate) colors: Colors,
    pub(crate) out: &'a mut W,
}

/// How the demo came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Merged,
    /// The person wanted no more than the pull request.
    Open,
    /// The person said no to the plan.
    Refused,
}

impl Outcome {
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Merged | Self::Open => Exit::Done,
            Self::Refused => Exit::Failed,
        }
    }
}

/// What has happened so far.
struct Told {
    task: Task,
    stream: TaskStream,
    voice: Voice,
    watch: Stopwatch,
    /// The plan that the person approved.
    approved: Option<Plan>,
}

/// Whether the story goes on after an event.
enum Next {
    On,
    Delivered(u64),
    Refused,
}

impl<W: Write> Tour<'_, W> {
    /// From the task's beginning to the person's last word. Gives the task as it was begun, too.
    pub(crate) async fn guide(&mut self, mind: &Mind) -> anyhow::Result<(Task, Outcome)> {
        self.hand_over_key(mind).await?;
        let task = self.begin().await?;
        let outcome = self.tell(task.clone()).await?;
        Ok((task, outcome))
    }

    async fn tell(&mut self, task: Task) -> anyhow::Result<Outcome> {
        writeln!(self.out, "  task        {}: {}", task.short, shortened(&task.title))?;
        let stream = self.client.watch_task(&task.id, Cursor::default());
        let (voice, watch) = (Voice::default(), Stopwatch::default());
        let mut told = Told { task, stream, voice, watch, approved: None };
        let number = match self.follow(&mut told).await? {
            Next::Delivered(number) => number,
            Next::Refused => return Ok(Outcome::Refused),
            Next::On => bail!("the stream of the task has ended before its pull request"),
        };
        let pull = self.show_delivery(&told, number).await?;
        self.close(&mut told, &pull).await
    }

    /// The key of a real model goes where every other goes: sealed, into the server.
    async fn hand_over_key(&self, mind: &Mind) -> anyhow::Result<()> {
        let Mind::Real(Real { provider, key, .. }) = mind else { return Ok(()) };
        let wish = SetSecret {
            value: key.clone(),
            note: "for `lamp demo`".to_owned(),
            ..SetSecret::default()
        };
        self.client.set_secret(provider.secret(), &wish).await.explained()?;
        Ok(())
    }

    async fn begin(&self) -> anyhow::Result<Task> {
        let url = self.ground.sample();
        let url = url.to_str().context("the directory's name is not text")?.to_owned();
        let repository =
            NewRepository { name: sample::NAME.to_owned(), url, revision: None, access: None };
        let wish = NewTask {
            text: sample::REQUEST.to_owned(),
            repositories: vec![repository],
            agent: Some("builtin".to_owned()),
            ..NewTask::default()
        };
        let key = uuid::Uuid::from_u128(SystemIds.next()).to_string();
        let begun = self.client.begin_task(&wish, &key).await.explained()?;
        begun.into_iter().next().context("the server has begun no task")
    }

    /// Tells what happens until there is a pull request, or no hope of one.
    async fn follow(&mut self, told: &mut Told) -> anyhow::Result<Next> {
        while let Some(item) = told.stream.next().await.explained()? {
            match item {
                StreamItem::Transcript { item, .. } => {
                    told.voice.hear(&item.event, self.colors, self.out)?;
                    self.out.flush()?;
                }
                StreamItem::Event { event, .. } => {
                    told.voice.pause(self.out)?;
                    match self.hear(told, &event).await? {
                        Next::On => self.out.flush()?,
                        over @ (Next::Delivered(_) | Next::Refused) => return Ok(over),
                    }
                }
                StreamItem::Heartbeat { .. } => {}
                StreamItem::End { state, .. } => {
                    bail!("the task has ended: {}", shortened(&state))
                }
                // The stream tells it as an error.
                StreamItem::Failed { error, .. } => bail!("{}", shortened(&error.message)),
            }
        }
        Ok(Next::On)
    }

    async fn hear(&mut self, told: &mut Told, recorded: &RecordedEvent) -> anyhow::Result<Next> {
        self.look_back(told, &recorded.event).await?;
        if let Some(stage) = told.watch.hear(recorded) {
            let name = format!("{:<10}", stage.name());
            writeln!(self.out, "\n  {} {}", self.colors.strong(name), stage.about())?;
        }
        match &recorded.event {
            TaskEvent::PlanSubmitted { plan, .. } => self.decide(told, plan).await,
            TaskEvent::QuestionAsked { question, .. } => self.answer(told, question).await,
            TaskEvent::PullRequestOpened { number, .. } => Ok(Next::Delivered(*number)),
            TaskEvent::ChecksFailed { stopped_by: Some(failure), .. }
            | TaskEvent::ReviewFoundFaults { stopped_by: Some(failure), .. }
            | TaskEvent::Charged { stopped_by: Some(failure), .. }
            | TaskEvent::Paused { why: PauseReason::Failure { failure } }
            | TaskEvent::Failed { failure } => Err(failed(failure)),
            TaskEvent::Cancelled { .. } => bail!("the task was cancelled"),
            TaskEvent::Paused { why: PauseReason::Asked { .. } } => bail!("the task was paused"),
            TaskEvent::Done { because } => {
                bail!("the task has ended before its pull request: {}", shortened(because))
            }
            TaskEvent::Requested { .. }
            | TaskEvent::Admitted {}
            | TaskEvent::Prepared { .. }
            | TaskEvent::Answered { .. }
            | TaskEvent::Researched { .. }
            | TaskEvent::Approved { .. }
            | TaskEvent::Rejected { .. }
            | TaskEvent::Implemented { .. }
            | TaskEvent::ChecksPassed { .. }
            | TaskEvent::ChecksNotWorse { .. }
            | TaskEvent::ChecksUnproven { .. }
            | TaskEvent::ChecksFailed { stopped_by: None, .. }
            | TaskEvent::ReviewPassed { .. }
            | TaskEvent::ReviewFoundFaults { stopped_by: None, .. }
            | TaskEvent::Woken { .. }
            | TaskEvent::FindingDismissed { .. }
            | TaskEvent::Messaged { .. }
            | TaskEvent::Amended { .. }
            | TaskEvent::BudgetRaised { .. }
            | TaskEvent::Charged { stopped_by: None, .. }
            | TaskEvent::Resumed { .. }
            | TaskEvent::Retried { .. }
            | TaskEvent::Unknown => Ok(Next::On),
        }
    }

    /// What the stage that ends with an event has come to.
    async fn look_back(&mut self, told: &Told, event: &TaskEvent) -> anyhow::Result<()> {
        if matches!(
            event,
            TaskEvent::ChecksPassed { .. }
                | TaskEvent::ChecksNotWorse { .. }
                | TaskEvent::ChecksUnproven { .. }
                | TaskEvent::ChecksFailed { .. }
        ) {
            let checks = self.client.task_checks(&told.task.id).await.explained()?;
            pages::checks(&checks, self.colors, self.out)?;
        }
        if matches!(event, TaskEvent::ReviewPassed { .. } | TaskEvent::ReviewFoundFaults { .. }) {
            let review = self.client.task_review(&told.task.id).await.explained()?;
            pages::review(&review, self.colors, self.out)?;
        }
        Ok(())
    }

    async fn decide(&mut self, told: &mut Told, plan: &Plan) -> anyhow::Result<Next> {
        pages::plan(plan, self.out)?;
        match self.person.decides("    Approve exactly this plan?", self.out).await? {
            Decision::Yes => {
                let wish = Approve { plan: plan.hash.clone(), conditions: Conditions::default() };
                self.client.approve(&told.task.id, &wish).await.explained()?;
                told.approved = Some(plan.clone());
                Ok(Next::On)
            }
            Decision::No => {
                self.client.cancel_task(&told.task.id).await.explained()?;
                writeln!(self.out, "\nYou said no, so nothing was changed.")?;
                Ok(Next::Refused)
            }
        }
    }

    async fn answer(&mut self, told: &Told, question: &Question) -> anyhow::Result<Next> {
        let text = shortened(&question.text);
        writeln!(self.out, "    The agent asks: {text}")?;
        let Some(text) = self.person.words("    Your answer:", self.out).await? else {
            bail!("nobody answers the agent's question");
        };
        let wish = AnswerQuestion { question: Some(question.id.clone()), text };
        self.client.answer(&told.task.id, &wish).await.explained()?;
        Ok(Next::On)
    }

    async fn show_delivery(&mut self, told: &Told, number: u64) -> anyhow::Result<Pull> {
        let pull = self.client.pull(sample::NAME, number).await.explained()?;
        writeln!(self.out)?;
        pages::pull(&pull, self.colors, self.out)?;
        let receipt = self.client.task_receipt(&told.task.id).await.explained()?;
        writeln!(
            self.out,
            "\n  {} checked with the public key and the repository alone",
            self.colors.strong("Receipt:")
        )?;
        let plan =
            told.approved.as_ref().context("there is a pull request for no approved plan")?;
        let delivered = Delivered { commit: &pull.delivered, plan, checks: self.checks };
        let envelope = receipt.to_string();
        receipt::check(envelope.as_bytes(), &delivered, self.ground, self.colors, self.out)?;
        let usage = self.client.task_usage(&told.task.id).await.explained()?;
        writeln!(self.out)?;
        pages::usage(&usage, &told.watch, self.out)?;
        Ok(pull)
    }

    async fn close(&mut self, told: &mut Told, pull: &Pull) -> anyhow::Result<Outcome> {
        let question = format!("\n  Merge pull request #{}?", pull.number);
        match self.person.decides(&question, self.out).await? {
            Decision::No => Ok(Outcome::Open),
            Decision::Yes => {
                let wish = MergePull { head: pull.delivered.clone(), base: pull.base.clone() };
                let merged = self.client.merge_pull(sample::NAME, pull.number, &wish).await;
                let commit: String = merged.explained()?.commit.chars().take(12).collect();
                let base = shortened(&pull.base);
                writeln!(self.out, "  Merged: `{base}` is at {} now.", shortened(&commit))?;
                self.out.flush()?;
                self.wait_for_the_end(told).await?;
                Ok(Outcome::Merged)
            }
        }
    }

    async fn wait_for_the_end(&mut self, told: &mut Told) -> anyhow::Result<()> {
        while let Some(item) = told.stream.next().await.explained()? {
            if let StreamItem::End { state, .. } = item {
                writeln!(self.out, "  The task is {}.", shortened(&state))?;
            }
        }
        Ok(())
    }
}

fn failed(failure: &Failure) -> anyhow::Error {
    let Failure { kind, phase, message, last_lines, remedy } = failure;
    let what = shortened(&format!("{phase} stopped ({kind}): {message}"));
    let last: Vec<String> =
        last_lines.iter().map(|line| format!("    {}", shortened(line))).collect();
    let hint = terminal::report::Hint::new(what, shortened(remedy));
    if last.is_empty() {
        return anyhow::anyhow!(hint);
    }
    anyhow::anyhow!("the last lines:\n{}", last.join("\n")).context(hint)
}
