//! Runs an agent through one phase, keeps what it tells, and passes people's words on to it while it runs.

use contracts::{
    agent::{AgentError, Agents as _, Answer, Mode, Outcome, Run, Words},
    sandbox::{WORKSPACE, directory_names},
};
use domain::{
    code::{CommitId, RepositoryName},
    failure::{Failure, FailureKind},
    id::{QuestionId, SandboxId},
    phase::Phase,
    question::Question,
    request::Request,
    task::{Event, Report},
    transcript::Ending,
};
use store::Heard;
use tokio::sync::mpsc;

use super::{Scene, Trouble, allowance, brief, full, linked, refused, stable_number, surroundings};
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
    let limit = scene.task.limits.time.of(phase);
    let left = allowance::left(scene).map_err(Trouble::Failed)?;
    let bill = scene.bill().await.map_err(Trouble::Busy)?;
    let mut brief = brief::brief(&scene.request, &scene.history, scene.engine.store.blobs(), mode);
    brief.quotes.extend(linked::quotes(scene).await);
    let around = surroundings::look(scene).await;
    brief.surroundings = around.map_err(|error| Trouble::Busy(error.to_string()))?;
    let run = Run {
        key: scene.key("agent"),
        task: scene.lease.task,
        sandbox,
        agent: scene.agent().clone(),
        mode,
        directories: directories(&scene.request),
        base: base(scene, mode).cloned(),
        brief,
        session: match memory {
            Memory::Continued => scene.task.session.clone(),
            Memory::Fresh => None,
        },
        limit: left.map_or(limit, |left| left.min(limit)),
        budget: scene.task.budget().minus(bill.money),
    };
    let (words, listening) = mpsc::channel(8);
    let (events, told) = mpsc::channel(64);
    let recorder = Recorder::new(scene.engine, scene.lease, told);
    let mut recording = Recording::new(recorder, scene.unfinished);
    // On the heap: an agent's run is the largest of all that a step waits for.
    let running = Box::pin(scene.hands().agents().run(&run, listening, events));
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
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return Err(trouble(scene, sandbox, error).await),
    };
    kept.map_err(Trouble::Busy)?;
    let answer = clean_answer(&*scene.engine.settings.redactor, outcome.answer);
    Ok(Outcome { answer, session: outcome.session })
}

/// What the task's own change began from, where there is one: what it says to agents instructs nobody until it is merged, neither a
/// reviewer nor the next run of its own task.
fn base<'s, H: Hands>(scene: &'s Scene<'_, H>, mode: Mode) -> Option<&'s CommitId> {
    let own = match mode {
        Mode::Research | Mode::Plan => scene.delivered_change(),
        Mode::Implement | Mode::Review => scene.newest_change(),
    };
    own.map(|(base, _, _)| base)
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

/// An answer that does not fit the mode. Whoever resumes the task asks the agent again.
pub(super) fn unexpected<H: Hands>(scene: &Scene<'_, H>, answer: &Answer) -> Trouble {
    let got = match answer {
        Answer::Question { .. } => "a question",
        Answer::Notes(_) => "notes",
        Answer::Plan(_) => "a plan",
        Answer::Change => "a change",
        Answer::Review(_) => "a review",
    };
    let message = format!("the agent answered with {got}, which does not fit this phase");
    scene.failed(FailureKind::AnswerUnusable, message)
}

/// What a run without an answer means. Why it failed is looked for outside as well: the agent may not know.
async fn trouble<H: Hands>(scene: &Scene<'_, H>, sandbox: SandboxId, error: AgentError) -> Trouble {
    // What a program printed last becomes a part of the task, and is told to people.
    let clean = |text: &str| scene.engine.settings.redactor.clean(text);
    let message = clean(&error.to_string());
    let failed =
        |kind, log: &str| Failure::new(kind, scene.phase(), message.clone()).with_log(&clean(log));
    Trouble::Failed(match error {
        AgentError::Busy { reason } => return Trouble::Busy(clean(&reason)),
        AgentError::ModelRefused { last_lines, .. }
        | AgentError::Silent { last_lines, .. }
        | AgentError::Stopped { last_lines, .. } => {
            let failure = failed(FailureKind::AgentError, &last_lines);
            looked_into(scene, sandbox, failure).await
        }
        AgentError::TimeLimit { last_lines, .. } => {
            let failure = failed(FailureKind::TimeLimit, &last_lines);
            match allowance::left(scene) {
                Ok(_) => looked_into(scene, sandbox, failure).await,
                Err(used_up) => Failure { last_lines: failure.last_lines, ..used_up },
            }
        }
        AgentError::SandboxLost { .. } => {
            let failure = failed(FailureKind::SandboxLost, "");
            or_full(scene, sandbox, failure).await.unwrap_or_else(|failure| failure)
        }
        AgentError::ProgramMissing { .. } => failed(FailureKind::AgentError, ""),
        AgentError::Unusable { last_lines, .. } => {
            let kind = match scene.phase() {
                Phase::Plan => FailureKind::PlanUnusable,
                Phase::Prepare
                | Phase::Research
                | Phase::Implement
                | Phase::Verify
                | Phase::Review
                | Phase::Deliver => FailureKind::AnswerUnusable,
            };
            failed(kind, &last_lines)
        }
        AgentError::OverBudget { last_lines, .. } => failed(FailureKind::BudgetHit, &last_lines),
        AgentError::OutOfMemory { last_lines, .. } => failed(FailureKind::Oom, &last_lines),
    })
}

/// The failure, with what stands behind it: no room on the disk, or a host that was refused.
async fn looked_into<H: Hands>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
    failure: Failure,
) -> Failure {
    match or_full(scene, sandbox, failure).await {
        Ok(full) => full,
        Err(failure) => refused::explained(scene, failure).await,
    }
}

/// That there is no room on the disk, or the failure as it is.
async fn or_full<H: Hands>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
    failure: Failure,
) -> Result<Failure, Failure> {
    let Some(told) = full::told(scene, sandbox, &failure.last_lines).await else {
        return Err(failure);
    };
    let message = format!("{}; {told}", failure.message);
    Ok(Failure { kind: FailureKind::DiskFull, message, ..failure })
}
