//! The story itself, act by act.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail, ensure};
use contracts::clock::{Clock as _, SystemClock};
use domain::{
    approval::Conditions,
    id::TaskId,
    limits::Limits,
    plan::Plan,
    task::{Ask, ForgeNews, Stage, Standing},
};
use engine::{Engine, SubmitError};
use store::Store;
use testkit::{ann, bob, inspect::inspect, ledger::Ledger, world::World};

use crate::{
    engine_process::{self, EngineProcess, Mishap},
    paper::{Ink, Paper},
    person::{Decision, Person},
    plan,
    teller::Teller,
    timeline,
};

const REQUEST: &str = "fix the flaky login test; question; red 1";

/// Everyone and everything in the play.
struct Play<'d> {
    paper: Paper,
    person: Person,
    directory: &'d Path,
    store: Arc<Store>,
    ledger: Ledger,
    /// The people's door to the engine. It drives nothing in this process.
    door: Engine<World>,
    task: TaskId,
    teller: Teller,
}

pub(crate) async fn play(paper: Paper, person: Person) -> anyhow::Result<()> {
    let directory = tempfile::Builder::new().prefix("lamp-rehearsal-").tempdir()?;
    introduce(&paper)?;
    let (store, ledger) = engine_process::open(directory.path()).await?;
    let door = engine_process::engine(Arc::clone(&store), ledger.clone(), Mishap::None);
    let engine = EngineProcess::start(directory.path(), Mishap::BeforeWriting)?;
    paper.line(format_args!("\n  The engine runs as process {}.\n", engine.id()))?;
    let begun = SystemClock.now();
    let task = door.submit(testkit::trigger("acme/web", REQUEST)?, Limits::default()).await?;
    let teller = Teller::new(Arc::clone(&store), task, begun);
    let directory = directory.path();
    let mut play = Play { paper, person, directory, store, ledger, door, task, teller };
    play.question().await?;
    play.gate().await?;
    let engine = play.crash(engine).await?;
    play.pull_request().await?;
    engine.stop().await?;
    play.verdict().await
}

fn introduce(paper: &Paper) -> anyhow::Result<()> {
    paper.line(paper.ink(Ink::Heading, "Lamplighter: a rehearsal"))?;
    paper.line(
        "\n  real      the engine, the store (SQLite, in a temporary directory), the rules, the gate\
         \n  scripted  the sandbox, the agent, the forge: no model, no key, nothing leaves this machine\
         \n\n  Ann, who may hand over work but not approve plans, asks for this in acme/web:",
    )?;
    paper.line(format_args!("\n    {}\n", paper.ink(Ink::Person, REQUEST)))?;
    paper.line(
        "  The words after `;` direct the scripted agent: ask one question, and let the first change\
         \n  fail its checks.",
    )?;
    Ok(())
}

impl Play<'_> {
    async fn question(&mut self) -> anyhow::Result<()> {
        let is_asked = |stage: &Stage| matches!(stage, Stage::AwaitingAnswer { .. });
        self.teller.until(&self.paper, is_asked).await?;
        self.paper.heading("A question before it goes on")?;
        let question = self.teller.newest_question().context("there is no question")?;
        let id = question.id;
        self.paper.line(format_args!("  The agent: {}", question.text))?;
        let text = self.person.answer(&self.paper)?;
        self.paper.line("")?;
        self.door.ask(self.task, ann(), Ask::Answer { question: id, text }).await?;
        Ok(())
    }

    /// Shows the plan and asks about it, until it is approved.
    async fn gate(&mut self) -> anyhow::Result<()> {
        let is_waiting = |stage: &Stage| matches!(stage, Stage::AwaitingApproval { .. });
        let mut earlier: Option<Plan> = None;
        loop {
            self.teller.until(&self.paper, is_waiting).await?;
            let plan = self.teller.newest_plan().context("there is no plan")?.clone();
            self.paper
                .heading("The gate: nothing is changed before a person says yes to this plan")?;
            plan::show(&self.paper, &plan)?;
            self.try_the_gate(&plan, earlier.as_ref()).await?;
            self.paper.line(
                "  The agent cannot even try: its words become reports, and no report approves.",
            )?;
            let hash = plan.hash();
            match self.person.decide(&self.paper)? {
                Decision::Approve => {
                    self.paper.line("")?;
                    let ask = Ask::Approve { plan: hash, conditions: Conditions::default() };
                    self.door.ask(self.task, bob(), ask).await?;
                    return Ok(());
                }
                Decision::Reject { comment } => {
                    self.paper.line("")?;
                    self.door.ask(self.task, bob(), Ask::Reject { plan: hash, comment }).await?;
                    earlier = Some(plan);
                    let has_left = |stage: &Stage| !matches!(stage, Stage::AwaitingApproval { .. });
                    self.teller.until(&self.paper, has_left).await?;
                }
            }
        }
    }

    /// Two who should not get through: someone without the right, and a yes to something else.
    async fn try_the_gate(&self, plan: &Plan, earlier: Option<&Plan>) -> anyhow::Result<()> {
        let approve =
            |plan: &Plan| Ask::Approve { plan: plan.hash(), conditions: Conditions::default() };
        self.is_refused("Ann approves it herself", ann(), approve(plan)).await?;
        if let Some(earlier) = earlier {
            let who = "Bob says yes, but to the plan that he sent back";
            return self.is_refused(who, bob(), approve(earlier)).await;
        }
        let mut other = plan.clone();
        other.commands.push("make deploy".to_owned());
        let who = "Bob says yes, but to a plan that also runs `make deploy`";
        self.is_refused(who, bob(), approve(&other)).await
    }

    async fn is_refused(
        &self,
        who: &str,
        by: domain::people::Person,
        ask: Ask,
    ) -> anyhow::Result<()> {
        match self.door.ask(self.task, by, ask).await {
            Err(SubmitError::Refused(refusal)) => {
                let refused = self.paper.ink(Ink::Bad, "refused");
                self.paper.line(format_args!("  {who}: {refused}\n    \"{refusal}\""))?;
                self.paper.breathe().await;
                Ok(())
            }
            Err(error @ (SubmitError::Store(_) | SubmitError::NotStarted(_))) => Err(error.into()),
            Ok(_) => bail!("{who}, and the gate lets it through: this is a bug"),
        }
    }

    /// Kills the engine at the worst moment, and starts another.
    async fn crash(&mut self, mut engine: EngineProcess) -> anyhow::Result<EngineProcess> {
        let is_over = |stage: &Stage| stage.standing() == Standing::Over;
        tokio::select! {
            reached = engine.worst_moment() => reached?,
            told = self.teller.until(&self.paper, is_over) => {
                told?;
                bail!("the engine was never killed: this is a bug");
            }
        }
        self.teller.catch_up(&self.paper).await?;
        self.paper.heading("The engine is killed (SIGKILL) at the worst moment")?;
        let id = engine.id();
        engine.kill().await?;
        let (seq, pending) = (self.teller.seq(), self.store.pending(self.task).await?);
        let steps: Vec<String> = pending.iter().map(|row| timeline::to_do(row.step)).collect();
        self.paper.line(format_args!(
            "  The agent has changed the code; nothing of it is written down. Process {id} is gone.\
             \n  What is left is a file with {seq} events, and what is to be done: {}.",
            steps.join(", ")
        ))?;
        self.paper.breathe().await;
        let engine = EngineProcess::start(self.directory, Mishap::None)?;
        let id = engine.id();
        self.paper.line(format_args!("  A second engine starts on it, as process {id}.\n"))?;
        Ok(engine)
    }

    async fn pull_request(&mut self) -> anyhow::Result<()> {
        let is_open = |stage: &Stage| matches!(stage, Stage::PullRequestOpen { .. });
        self.teller.until(&self.paper, is_open).await?;
        self.paper.heading("Bob merges the pull request (on the scripted forge)")?;
        self.door.forge_says(self.task, ForgeNews::Merged).await?;
        let is_over = |stage: &Stage| stage.standing() == Standing::Over;
        self.teller.until(&self.paper, is_over).await?;
        while !self.store.pending(self.task).await?.is_empty() {
            SystemClock.sleep_until(SystemClock.now() + Duration::from_millis(20)).await;
        }
        self.teller.catch_up(&self.paper).await
    }

    async fn verdict(&self) -> anyhow::Result<()> {
        let task = self.teller.now().context("the task is gone")?;
        let spent = task.spent;
        let verdict = inspect(&self.store, &self.ledger, &[self.task]).await?;
        let audit = self.store.verify_audit().await?;
        self.store.close().await;
        let paper = &self.paper;
        paper.heading("What is true in the end")?;
        let tokens = spent.input_tokens + spent.output_tokens;
        let cost =
            format!("{}, {tokens} tokens, {} ms of processor", spent.money, spent.cpu_millis);
        let fact = |name: &str, text: &str| paper.line(format_args!("  {name:<9} {text}"));
        fact("task", &format!("{} is {}", self.task, task.stage.name()))?;
        fact("cost", &format!("{cost} (scripted prices)"))?;
        fact("audit", &format!("verified: {} rows, head {}", audit.rows, audit.head.short()))?;
        let counted = format!(
            "{} lost, {} doubled, {} orphans",
            verdict.lost.len(),
            verdict.doubled.len(),
            verdict.orphans.len(),
        );
        let ink = if verdict.is_clean() { Ink::Good } else { Ink::Bad };
        fact("inspected", &paper.ink(ink, counted))?;
        paper.line(format_args!(
            "            {} calls to the outside came twice, harmlessly: a repeat gets the first answer",
            verdict.repeated_calls
        ))?;
        ensure!(verdict.is_clean(), "the store and the outside disagree: {verdict}");
        paper.heading("Read on")?;
        paper.line(
            "  README.md          what exists today\
             \n  ARCHITECTURE.md    how a task moves, and what keeps the gate shut\
             \n  docs/PROMISES.md   every promise, with the tests that show it\
             \n  make test          all of it, with many more kills than one",
        )?;
        Ok(())
    }
}
