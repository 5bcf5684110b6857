//! Writes the outcome of a step, together with taking its row away.

use domain::{
    failure::{Failure, FailureKind},
    phase::Phase,
    task::{Command, Event, Refusal, Report, Span, Step, Task, decide},
};
use store::{Append, Lease, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{
    Engine, Hands,
    bill::Bill,
    last_words,
    steps::{Done, Ended, Trouble},
    witness::Moment,
};
use contracts::clock::Clock as _;

/// Writes what came of a step. Its work is done; only the writing is left, which is tried until it
/// holds or the lease is gone.
pub(crate) async fn settle<H: Hands>(
    engine: &Engine<H>,
    lease: Lease,
    ended: Ended,
    stop: &CancellationToken,
) {
    let reports = match ended.outcome {
        Err(Trouble::Deadly) => match deadly(&lease) {
            Ok(failure) => vec![Report::Failed(failure)],
            Err(reason) => return put_back(engine, lease, reason, Pause::Longest).await,
        },
        Ok(Done::Nothing) => Vec::new(),
        Ok(Done::Reports(reports)) => reports,
        Err(Trouble::Failed(failure)) => vec![Report::Failed(failure)],
        Err(Trouble::NotOurs(reason)) => {
            return put_back(engine, lease, reason, Pause::Longest).await;
        }
        Err(Trouble::Busy(reason)) => match giving_up(engine, &lease, &reason) {
            Some(failure) => vec![Report::Failed(failure)],
            None => return put_back(engine, lease, reason, Pause::Growing).await,
        },
    };
    let mut tries = 0;
    loop {
        tries += 1;
        match write(engine, &lease, &reports, ended.bill).await {
            Ok(()) | Err(StoreError::Closed) => return,
            // Told to stop at the last moment: then the row goes, so that nobody waits for it.
            Err(StoreError::LeaseLost) => return drop(engine.store.abandon(lease).await),
            Err(StoreError::Conflict { .. }) => {}
            // Trying the same again would end the same: the step is done anew, later.
            Err(error) if !error.is_passing() => {
                tracing::error!(%error, task = %lease.task, "cannot write an outcome");
                return put_back(engine, lease, error.to_string(), Pause::Longest).await;
            }
            Err(error) => {
                tracing::warn!(%error, task = %lease.task, "cannot write an outcome yet");
                let again = engine.now() + engine.settings.pause_after(tries);
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = engine.hands.clock().sleep_until(again) => {}
                }
            }
        }
    }
}

async fn write<H: Hands>(
    engine: &Engine<H>,
    lease: &Lease,
    outcome: &[Report],
    bill: Option<Bill>,
) -> Result<(), StoreError> {
    let history = engine.store.history(lease.task).await?;
    let before = history.task().ok_or(StoreError::NoTask { task: lease.task })?;
    // The outcome first, the bill after it: work that was paid for is never lost to the budget.
    let charge = bill.and_then(|bill| bill.beyond(&before));
    let reports: Vec<Report> = outcome.iter().cloned().chain(charge).collect();
    if reports.is_empty() {
        return engine.store.finish(lease.clone()).await;
    }
    let mut events = decided(&before, &reports);
    if let (true, Some((_, phase))) = (events.is_empty(), blame(lease.step)) {
        // The step is still asked for, and what came of it does not fit: a fault of ours, which must
        // not leave the task waiting for nothing.
        let message = "the outcome of this step does not fit the task";
        let failure = Failure::new(FailureKind::Internal, phase, message);
        events = decided(&before, &[Report::Failed(failure)]);
    }
    if events.is_empty() {
        return engine.store.finish(lease.clone()).await;
    }
    let events = last_words::added(engine, lease, events).await;
    let append = Append {
        task: lease.task,
        seq: history.seq(),
        before: Some(before),
        events,
        at: engine.now(),
        settles: Some(lease.clone()),
    };
    let appended = engine.store.append(append).await?;
    engine.settings.witness.sees(Moment::Appended { task: lease.task, seq: appended.seq });
    Ok(())
}

/// The events that `reports` lead to. One that is refused is left out, with a word in the log; an
/// unusable plan becomes the failure that it is.
fn decided(before: &Task, reports: &[Report]) -> Vec<Event> {
    let mut task = before.clone();
    let mut events = Vec::with_capacity(reports.len());
    for report in reports {
        let name = report.name();
        let decided = match decide(&task, Command::Report(report.clone())) {
            Err(Refusal::Plan(fault)) => {
                let failure =
                    Failure::new(FailureKind::PlanUnusable, Phase::Plan, fault.to_string());
                decide(&task, Command::Report(Report::Failed(failure)))
            }
            decided => decided,
        };
        match decided {
            Ok(event) => {
                task = task.after(&event);
                events.push(event);
            }
            Err(refusal) => tracing::info!(%refusal, name, "an outcome came too late"),
        }
    }
    events
}

/// The failure that a step becomes which nobody survived. What must happen whatever comes is tried for
/// ever, with long pauses; then the reason is all there is.
fn deadly(lease: &Lease) -> Result<Failure, String> {
    let times = lease.attempt.saturating_sub(1);
    let message = format!("the engine ended {times} times in the middle of this step");
    match blame(lease.step) {
        Some((_, phase)) => Ok(Failure::new(FailureKind::Internal, phase, message)),
        None => Err(message),
    }
}

/// The failure that a step becomes when it was tried often enough. What must happen whatever comes
/// (telling the person, cleaning up) is never given up.
fn giving_up<H: Hands>(engine: &Engine<H>, lease: &Lease, reason: &str) -> Option<Failure> {
    if lease.attempt < engine.settings.tries || lease.step.span() == Span::Always {
        return None;
    }
    let (kind, phase) = blame(lease.step)?;
    let message = format!("gave up after {} tries: {reason}", lease.attempt);
    Some(Failure::new(kind, phase, message))
}

const fn blame(step: Step) -> Option<(FailureKind, Phase)> {
    Some(match step {
        Step::Open => (FailureKind::SandboxLost, Phase::Prepare),
        Step::Research => (FailureKind::AgentError, Phase::Research),
        Step::Plan => (FailureKind::AgentError, Phase::Plan),
        Step::Implement => (FailureKind::AgentError, Phase::Implement),
        Step::Verify => (FailureKind::SandboxLost, Phase::Verify),
        Step::Review => (FailureKind::AgentError, Phase::Review),
        Step::Deliver => (FailureKind::ForgeError, Phase::Deliver),
        Step::Rest | Step::Close | Step::Tell | Step::TimeUp(_) => return None,
    })
}

/// How long a step rests before it is tried again.
enum Pause {
    Growing,
    Longest,
}

async fn put_back<H: Hands>(engine: &Engine<H>, lease: Lease, reason: String, pause: Pause) {
    let (task, seq, step, attempt) = (lease.task, lease.seq, lease.step, lease.attempt);
    engine.settings.witness.sees(Moment::PutBack { task, seq, step, attempt });
    tracing::info!(%task, ?step, attempt, reason, "trying again later");
    let pause = match pause {
        Pause::Growing => engine.settings.pause_after(attempt),
        Pause::Longest => engine.settings.longest_pause,
    };
    let due_at = engine.now() + pause;
    if let Err(error) = engine.store.put_back(lease, due_at, reason).await {
        // The lease runs out by itself, and then the step is anybody's.
        tracing::warn!(%error, %task, "cannot put a step back");
    }
}
