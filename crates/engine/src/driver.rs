//! Claims steps that are due, runs each, and settles it.
//!
//! Loops, all ended by one token and waited for: one gives places and claims, one keeps the leases, one
//! sweeps, one looks at open pull requests. Each claimed step is a task of its own.

use std::sync::Arc;

use contracts::clock::Clock as _;
use domain::time::Timestamp;
use store::{Heard, Lease, StoreError, Subscription};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Engine, Hands,
    held::{Held, Holding},
    settle::settle,
    steps::{self, Ended, Scene},
    sweeper,
    transcript::Unfinished,
    watch,
    witness::Moment,
};

pub(crate) async fn drive<H: Hands>(engine: &Engine<H>, stop: CancellationToken) {
    let drive = Arc::new(Drive {
        engine: engine.clone(),
        held: Held::default(),
        look: Notify::new(),
        check_leases: Notify::new(),
        running: TaskTracker::new(),
        stop: stop.clone(),
    });
    let changes = engine.store.subscribe();
    // A crash before this start left leases in our name; nobody works on them any more.
    if let Err(error) = engine.store.let_go(&engine.settings.name).await {
        tracing::warn!(%error, "cannot let go of what an earlier start held");
    }
    tokio::join!(
        claim_loop(&drive),
        keep_leases(&drive),
        listen(&drive, changes),
        sweeper::sweep_regularly(engine, &stop),
        watch::watch_regularly(engine, &stop),
    );
    drive.running.close();
    drive.running.wait().await;
}

struct Drive<H> {
    engine: Engine<H>,
    held: Held,
    /// There may be something to claim.
    look: Notify,
    /// A task that we work on has changed: is the lease still ours?
    check_leases: Notify,
    running: TaskTracker,
    stop: CancellationToken,
}

/// Turns what the store tells into looking again.
async fn listen<H: Hands>(drive: &Drive<H>, mut changes: Subscription) {
    loop {
        let heard = tokio::select! {
            () = drive.stop.cancelled() => return,
            heard = changes.next() => heard,
        };
        match heard {
            Heard::Change(change) => {
                if drive.held.works_on(change.task) {
                    drive.check_leases.notify_one();
                }
            }
            // What an agent says changes nothing that we do.
            Heard::Transcript(_) => continue,
            Heard::Missed => drive.check_leases.notify_one(),
            Heard::Closed => return,
        }
        drive.look.notify_one();
    }
}

async fn keep_leases<H: Hands>(drive: &Drive<H>) {
    let engine = &drive.engine;
    let every = engine.settings.lease / 3;
    loop {
        let next = engine.now() + every;
        tokio::select! {
            () = drive.stop.cancelled() => return,
            () = drive.check_leases.notified() => {}
            () = engine.hands.clock().sleep_until(next) => {}
        }
        let now = || engine.now();
        drive.held.renew(&engine.store, now, engine.settings.lease).await;
    }
}

async fn claim_loop<H: Hands>(drive: &Arc<Drive<H>>) {
    let engine = &drive.engine;
    loop {
        let asked = engine.now();
        let claimed = claim(drive).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look for work");
            0
        });
        // A full hand of steps: there may be more.
        if claimed > 0 && drive.held.len() < engine.settings.parallel {
            continue;
        }
        let next = wake_at(drive, asked).await;
        tokio::select! {
            () = drive.stop.cancelled() => return,
            () = drive.look.notified() => {}
            () = engine.hands.clock().sleep_until(next) => {}
        }
    }
}

/// When to look again if nobody tells: the next timer, but regularly in any case. What was due when we `asked` and was not ours to claim is
/// no reason; what came due since then is.
async fn wake_at<H: Hands>(drive: &Drive<H>, asked: Timestamp) -> Timestamp {
    let engine = &drive.engine;
    let regularly = asked + engine.settings.look_every;
    if drive.held.len() >= engine.settings.parallel {
        return regularly;
    }
    match engine.store.next_due().await {
        Ok(Some(due)) if due > asked => due.min(regularly),
        Ok(_) | Err(_) => regularly,
    }
}

async fn claim<H: Hands>(drive: &Arc<Drive<H>>) -> Result<usize, StoreError> {
    let engine = &drive.engine;
    if drive.stop.is_cancelled() {
        return Ok(0);
    }
    let free = engine.settings.parallel.saturating_sub(drive.held.len());
    if free == 0 {
        return Ok(0);
    }
    engine.store.give_places(engine.settings.places, engine.now()).await?;
    let now = engine.now();
    let most = u32::try_from(free).unwrap_or(u32::MAX);
    let until = now + engine.settings.lease;
    let leases = engine.store.claim(&engine.settings.name, now, until, most).await?;
    let count = leases.len();
    for lease in leases {
        let drive = Arc::clone(drive);
        // Held before it runs, so that the next claim counts it.
        let holding = drive.held.hold(lease.clone(), until);
        let running = drive.running.clone();
        running.spawn(async move { run(&drive, lease, holding).await });
    }
    Ok(count)
}

/// One step, from its claim to its settlement.
async fn run<H: Hands>(drive: &Drive<H>, lease: Lease, holding: Holding) {
    let engine = &drive.engine;
    let (task, seq, step) = (lease.task, lease.seq, lease.step);
    engine.settings.witness.sees(Moment::Claimed { task, seq, step });
    let unfinished = Unfinished::default();
    let ended = tokio::select! {
        biased;
        () = holding.stop.cancelled() => None,
        () = drive.stop.cancelled() => {
            // Before anybody else begins anew, so that it stands before what they tell.
            unfinished.close(engine, "the server was stopped").await;
            drop(engine.store.hand_over(lease).await);
            return;
        }
        ended = work(engine, &lease, &unfinished) => Some(ended),
    };
    match ended {
        // Only what is no longer wanted goes. A lease that ran out is somebody else's by now.
        None => {
            unfinished.close(engine, "the task went on without it").await;
            drop(engine.store.abandon(lease).await);
        }
        Some(ended) => {
            engine.settings.witness.sees(Moment::Done { task, seq, step });
            tokio::select! {
                () = drive.stop.cancelled() => {}
                () = settle(engine, lease, ended, &holding.stop) => {}
            }
        }
    }
    drop(holding);
    drive.look.notify_one();
}

async fn work<H: Hands>(engine: &Engine<H>, lease: &Lease, unfinished: &Unfinished) -> Ended {
    match Scene::read(engine, lease, unfinished).await {
        Ok(scene) => steps::run(&scene).await,
        Err(error) => Ended::unread(&error),
    }
}
