//! Removes sandboxes that nobody owns any more.
//!
//! A driver that was cut off may finish opening a sandbox after its task was closed by another. So
//! now and then everything that exists is compared with the tasks that are over.

use contracts::{
    clock::Clock as _,
    sandbox::{Owner, Sandboxes as _},
};
use domain::task::Standing;
use tokio_util::sync::CancellationToken;

use crate::{Engine, Hands};

pub(crate) async fn sweep_regularly<H: Hands>(engine: &Engine<H>, stop: &CancellationToken) {
    loop {
        let swept = tokio::select! {
            () = stop.cancelled() => return,
            swept = sweep(engine) => swept,
        };
        if let Err(reason) = swept {
            tracing::warn!(reason, "cannot look for sandboxes that nobody owns");
        }
        let next = engine.now() + engine.settings.sweep_every;
        tokio::select! {
            () = stop.cancelled() => return,
            () = engine.hands.clock().sleep_until(next) => {}
        }
    }
}

/// Destroys the sandboxes of tasks that are over. Sandboxes of tasks that we do not know may belong to
/// another installation on this host: they are left alone, and so is a person's own computer.
async fn sweep<H: Hands>(engine: &Engine<H>) -> Result<(), String> {
    let sandboxes = engine.hands.sandboxes();
    for listed in sandboxes.list().await.map_err(|error| error.to_string())? {
        let Owner::Task(task) = listed.owner else { continue };
        let history = engine.store.history(task).await.map_err(|error| error.to_string())?;
        let over = history.task().is_some_and(|task| task.stage.standing() == Standing::Over);
        if over {
            tracing::info!(sandbox = %listed.id, %task, "removing what nobody owns");
            sandboxes.destroy(listed.id).await.map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}
