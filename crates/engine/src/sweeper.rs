//! Removes what nobody owns any more: sandboxes of tasks that are over, and evidence that no event speaks of.
//!
//! A driver that was cut off may finish opening a sandbox after its task was closed by another. So
//! now and then everything that exists is compared with the tasks that are over. Such a sandbox gets no
//! credentials, but it uses the host, and that is written down like everything else.
//!
//! Evidence is kept before the event that speaks of it, by the same step. A step that dies in between, or whose outcome is dropped, leaves a
//! file that nobody will ever ask for. It goes when it is so old that no step can still be about to speak of it.

use std::time::Duration;

use contracts::{
    clock::Clock as _,
    sandbox::{Owner, SandboxError, Sandboxes as _},
};
use domain::{
    id::{SandboxId, TaskId},
    task::{Command, Standing, decide},
};
use store::{Append, Collected};
use tokio_util::sync::CancellationToken;

use crate::{
    Engine, Hands,
    bill::{self, Bill},
    witness::Moment,
};

/// How often evidence is looked through. All of its files are listed for that.
const COLLECT_EVERY: Duration = Duration::from_hours(24);

/// How old evidence is that goes. No step lives for a week, and one that is repeated keeps its evidence anew.
const GRACE: Duration = Duration::from_hours(7 * 24);

pub(crate) async fn sweep_regularly<H: Hands>(engine: &Engine<H>, stop: &CancellationToken) {
    let mut collect_at = engine.now();
    loop {
        let swept = tokio::select! {
            () = stop.cancelled() => return,
            swept = sweep(engine) => swept,
        };
        if let Err(reason) = swept {
            tracing::warn!(reason, "cannot look for sandboxes that nobody owns");
        }
        if engine.now() >= collect_at {
            collect_at = engine.now() + COLLECT_EVERY;
            tokio::select! {
                () = stop.cancelled() => return,
                () = collect(engine) => {}
            }
        }
        let next = engine.now() + engine.settings.sweep_every;
        tokio::select! {
            () = stop.cancelled() => return,
            () = engine.hands.clock().sleep_until(next) => {}
        }
    }
}

async fn collect<H: Hands>(engine: &Engine<H>) {
    match engine.store.collect_blobs(GRACE).await {
        Ok(Collected { removed: 0, .. }) => {}
        Ok(Collected { removed, freed_bytes, .. }) => {
            tracing::info!(removed, freed_bytes, "removed evidence that no event speaks of");
        }
        Err(error) => tracing::warn!(%error, "cannot look for evidence that no event speaks of"),
    }
}

/// Removes the sandboxes of tasks that are over. Sandboxes of tasks that we do not know may belong to
/// another installation on this host: they are left alone, and so is a person's own computer.
async fn sweep<H: Hands>(engine: &Engine<H>) -> Result<(), String> {
    let listed = engine.hands.sandboxes().list().await.map_err(|error| error.to_string())?;
    for one in listed {
        let Owner::Task(task) = one.owner else { continue };
        let history = engine.store.history(task).await.map_err(|error| error.to_string())?;
        let over = history.task().is_some_and(|task| task.stage.standing() == Standing::Over);
        if !over {
            continue;
        }
        tracing::info!(sandbox = %one.id, %task, "removing what nobody owns");
        // One that cannot be removed now does not keep the others.
        if let Err(reason) = remove(engine, task, one.id).await {
            tracing::warn!(sandbox = %one.id, reason, "cannot remove what nobody owns yet");
        }
    }
    Ok(())
}

/// Stops a sandbox, writes down what it has used, and destroys it. It came after its task was closed, so
/// nobody else will. Written down before it is destroyed: after a crash in between it is found again.
async fn remove<H: Hands>(engine: &Engine<H>, task: TaskId, id: SandboxId) -> Result<(), String> {
    let sandboxes = engine.hands.sandboxes();
    match sandboxes.rest(id).await {
        Ok(()) | Err(SandboxError::NotFound { .. } | SandboxError::Destroyed { .. }) => {}
        // It may be past resting. The bill has what could be read of it.
        Err(error) => tracing::info!(sandbox = %id, %error, "cannot stop it before it goes"),
    }
    charge(engine, task).await?;
    sandboxes.destroy(id).await.map_err(|error| error.to_string())?;
    // Whoever opened it may have woken it once more before it went.
    charge(engine, task).await
}

/// Writes down what a task that is over has used since its last reading.
async fn charge<H: Hands>(engine: &Engine<H>, task: TaskId) -> Result<(), String> {
    let used = bill::read(engine.hands.as_ref(), task).await?;
    let history = engine.store.history(task).await.map_err(|error| error.to_string())?;
    let Some(before) = history.task() else { return Ok(()) };
    let bill = Bill { phase: bill::phase(&before.stage), used };
    let Some(report) = bill.beyond(&before) else { return Ok(()) };
    let event = decide(&before, Command::Report(report)).map_err(|error| error.to_string())?;
    let append = Append {
        task,
        seq: history.seq(),
        before: Some(before),
        events: vec![event],
        at: engine.now(),
        settles: None,
    };
    let appended = engine.store.append(append).await.map_err(|error| error.to_string())?;
    engine.settings.witness.sees(Moment::Appended { task, seq: appended.seq });
    Ok(())
}
