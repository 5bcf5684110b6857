//! Colleagues who approve, answer and merge whatever waits for them.
//!
//! They hold nothing in memory: they look at what waits and decide, again and again, as people do.

use std::sync::Arc;

use contracts::clock::Clock as _;
use domain::{
    approval::Conditions,
    task::{Ask, ForgeNews, Stage},
};
use engine::Engine;
use store::{Filter, Page, Store, TaskView};
use tokio_util::sync::CancellationToken;

use crate::{ann, bob, world::World};

/// Decides about everything that waits, until `stop`.
pub async fn decide_until(
    engine: &Engine<World>,
    clock: &crate::clock::AnyClock,
    stop: CancellationToken,
) {
    while !stop.is_cancelled() {
        for stage in ["awaiting approval", "waiting for an answer", "pull request open"] {
            decide_about(engine, stage).await;
        }
        let next = clock.now() + std::time::Duration::from_millis(20);
        tokio::select! {
            () = stop.cancelled() => return,
            () = clock.sleep_until(next) => {}
        }
    }
}

async fn decide_about(engine: &Engine<World>, stage: &str) {
    let filter = Filter { stage: Some(stage.to_owned()), ..Filter::default() };
    // A database that is not there right now will be looked at again.
    let waiting = engine.store().tasks(&filter, Page { before: None, size: 500 }).await;
    for task in waiting.unwrap_or_default() {
        decide(engine, &task).await;
    }
}

async fn decide(engine: &Engine<World>, view: &TaskView) {
    let Some(stage) = stage(engine.store(), view).await else { return };
    // A refusal means that someone else was faster: that is fine with them.
    match stage {
        Stage::AwaitingApproval { plan } => {
            let approve = Ask::Approve { plan, conditions: Conditions::default() };
            drop(engine.ask(view.task, bob(), approve).await);
        }
        Stage::AwaitingAnswer { question, .. } => {
            let answer = Ask::Answer { question, text: "the first one".to_owned() };
            drop(engine.ask(view.task, ann(), answer).await);
        }
        Stage::PullRequestOpen { .. } => {
            drop(engine.forge_says(view.task, ForgeNews::Merged).await);
        }
        Stage::Queued { .. }
        | Stage::Preparing { .. }
        | Stage::Working(_)
        | Stage::Paused { .. }
        | Stage::Waking { .. }
        | Stage::Done { .. }
        | Stage::Failed { .. }
        | Stage::Cancelled { .. } => {}
    }
}

async fn stage(store: &Arc<Store>, view: &TaskView) -> Option<Stage> {
    Some(store.history(view.task).await.ok()?.task()?.stage)
}
