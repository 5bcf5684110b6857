//! Runs an agent through one phase, keeps what it tells, and passes people's words on to it while it runs.

use std::time::Duration;

use contracts::{
    agent::{AgentError, Agents as _, Answer, Mode, Outcome, Run, Words},
    sandbox::{WORKSPACE, directory_names},
};
use domain::{
    code::RepositoryName,
    failure::{Failure, FailureKind},
    id::{QuestionId, SandboxId},
    question::Question,
    request::Request,
    task::{Event, Report},
    transcript::Ending,
};
use store::Heard;
use tokio::sync::mpsc;

use super::{Scene, Trouble, brief, stable_number};
use crate::{
    Hands,
    transcript::{Recorder, Recording, clean_answer},
};

/// Whether the agent continues its memory or begins with a fresh one.
pub(super) enum Memory {
    Continued,
    Fresh,
}

pub(super) async fn run<H: Hands>(
    scene: &Scene<'_, H>,
    mode: Mode,
    sandbox: SandboxId,
    memory: Memory,
) -> Result<Outcome, Trouble> {
    let phase = scene.phase();
    let limits = &scene.task.limits;
    let condition = scene.task.stage.mandate().and_then(|it| it.approval().conditions.time);
    let limit = limits.time.of(phase);
    let bill = scene.bill().await.map_err(Trouble::Busy)?;
    let run = Run {
        key: scene.key("agent"),
        task: scene.lease.task,
        sandbox,
        agent: scene.agent().clone(),
        mode,
        directories: directories(&scene.request),
        brief: brief::brief(&scene.request, &scene.history, scene.engine.store.blobs(), mode),
        session: match memory {
            Memory::Continued => scene.task.session.clone(),
            Memory::Fresh => None,
        },
        limit: condition.map_or(limit, |allowed: Duration| allowed.min(limit)),
        budget: scene.task.budget().minus(bill.money),
    };
    let (words, listening) = mpsc::channel(8);
    let (events, told) = mpsc::channel(64);
    let recorder = Recorder::new(scene.engine, scene.lease, told);
    let mut recording = Recording::new(recorder, scene.unfinished);
    let running = scene.hands().agents().run(&run, listening, events);
    let outcome = tokio::select! {
        outcome = running => outcome,
        () = pass_on_words(scene, words) => Err(AgentError::Busy {
            reason: "the store cannot tell what people say".to_owned(),
        }),
        // The database was away for long enough.
        reason = recording.watch(scene.engine) => return Err(Trouble::Busy(reason)),
    };
    // What was said is kept before what came of it.
    let kept = recording.finish(scene.engine, ending(&outcome)).await;
    let outcome = outcome.map_err(|error| trouble(scene, error))?;
    kept.map_err(Trouble::Busy)?;
    let answer = clean_answer(&*scene.engine.settings.redactor, outcome.answer);
    Ok(Outcome { answer, session: outcome.session })
}

/// How the transcript ends, if the agent has not said so itself.
fn ending(outcome: &Result<Outcome, AgentError>) -> Ending {
    match outcome.as_ref().map(|outcome| &outcome.answer) {
        Ok(Answer::Question { .. }) => Ending::Asked,
        Ok(Answer::Notes(_) | Answer::Plan(_) | Answer::Change | Answer::Review(_)) => {
            Ending::Answered
        }
        Err(error) => Ending::Stopped { reason: error.to_string() },
    }
}

/// Where the request's repositories are, inside.
fn directories(request: &Request) -> Vec<String> {
    let names: Vec<&RepositoryName> = request.repositories.iter().map(|used| &used.name).collect();
    let names = directory_names(&names);
    names.iter().map(|name| format!("{WORKSPACE}/{name}")).collect()
}

/// Hands on what people say from now on. What they said before is in the brief.
async fn pass_on_words<H: Hands>(scene: &Scene<'_, H>, words: mpsc::Sender<Words>) {
    let mut changes = scene.engine.store.subscribe();
    let mut seen = scene.history.seq();
    // The first look is for what was said between reading the history and listening.
    let mut heard = Heard::Missed;
    loop {
        match heard {
            Heard::Change(change) if change.task == scene.lease.task => {}
            Heard::Change(_) | Heard::Transcript(_) => {
                heard = changes.next().await;
                continue;
            }
            Heard::Missed => {}
            Heard::Closed => return,
        }
        let new = scene.engine.store.events_after(scene.lease.task, seen, 100).await;
        for recorded in new.unwrap_or_default() {
            seen = recorded.seq;
            if let Event::Messaged { text, .. } = recorded.event {
                // An agent that is just finishing no longer listens.
                drop(words.send(Words(text)).await);
            }
        }
        heard = changes.next().await;
    }
}

/// An agent's question, as a report.
pub(super) fn asked<H: Hands>(
    scene: &Scene<'_, H>,
    text: String,
    choices: Vec<String>,
    session: Option<String>,
) -> Report {
    let id = QuestionId::from_u128(stable_number(scene.key("question")));
    Report::Asked { question: Question { id, text, choices }, session }
}

/// An answer that does not fit the mode.
pub(super) fn unexpected<H: Hands>(scene: &Scene<'_, H>, answer: &Answer) -> Trouble {
    let got = match answer {
        Answer::Question { .. } => "a question",
        Answer::Notes(_) => "notes",
        Answer::Plan(_) => "a plan",
        Answer::Change => "a change",
        Answer::Review(_) => "a review",
    };
    let message = format!("the agent answered with {got}, which does not fit this phase");
    scene.failed(FailureKind::AgentError, message)
}

fn trouble<H: Hands>(scene: &Scene<'_, H>, error: AgentError) -> Trouble {
    // What a program printed last becomes a part of the task, and is told to people.
    let clean = |text: &str| scene.engine.settings.redactor.clean(text);
    let message = clean(&error.to_string());
    let failed = |kind, log: &str| {
        Trouble::Failed(Failure::new(kind, scene.phase(), message.clone()).with_log(&clean(log)))
    };
    match error {
        AgentError::Busy { reason } => Trouble::Busy(clean(&reason)),
        AgentError::ModelRefused { last_lines, .. }
        | AgentError::Silent { last_lines, .. }
        | AgentError::Stopped { last_lines, .. } => failed(FailureKind::AgentError, &last_lines),
        AgentError::TimeLimit { last_lines, .. } => failed(FailureKind::TimeLimit, &last_lines),
        AgentError::ProgramMissing { .. } => failed(FailureKind::AgentError, ""),
        AgentError::Unusable { last_lines, .. } => failed(FailureKind::PlanUnusable, &last_lines),
        AgentError::OverBudget { .. } => failed(FailureKind::BudgetHit, ""),
        AgentError::EgressBlocked { .. } => failed(FailureKind::EgressBlocked, ""),
        AgentError::Drift { .. } => failed(FailureKind::PlanDrift, ""),
        AgentError::OutOfMemory { .. } => failed(FailureKind::Oom, ""),
        AgentError::SandboxLost { .. } => failed(FailureKind::SandboxLost, ""),
    }
}
