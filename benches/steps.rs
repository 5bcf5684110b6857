//! How many steps the drivers do per minute: the real engine and store, a scripted outside.
//!
//! A step is claimed, done through the contracts and settled with its outcome. The scripted outside
//! keeps what it did in files; they lie in memory where the machine has such a place, so that the
//! engine is what is measured.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use contracts::clock::Clock as _;
use domain::{id::TaskId, limits::Limits, queue::Places};
use engine::{Engine, Moment, Settings, Witness};
use store::{Filter, Page};
use tempfile::TempDir;
use testkit::{clock::AnyClock, inspect::inspect, ledger::Ledger, people, world::World};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    Bed, Bench,
    report::{Figure, Goal},
};

const TASKS: usize = 400;
const PROMISED: f64 = 5_000.0;
/// Files here are in memory, on most Linux systems.
const MEMORY: &str = "/dev/shm";

pub async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let title = format!("Driver steps: {TASKS} tasks from request to merge, real engine, SQLite");
    bench.report.section(&title)?;
    let bed = bench.sqlite().await?;
    let (outside, held) = outside(bench)?;
    bench.report.say(format_args!("  (the scripted outside keeps its files {held})"))?;
    let played = Box::pin(play(&bed, &outside)).await?;
    bed.store.close().await;
    let minutes = played.took.as_secs_f64() / 60.0;
    let figure = Figure::new("steps", played.steps / minutes, "/min")
        .note(format_args!("{:.0} steps in {:.1} s", played.steps, played.took.as_secs_f64()))
        .goal(Goal::AtLeast(PROMISED));
    bench.report.add(figure)?;
    bench.report.add(Figure::new("tasks from request to merge", played.tasks / minutes, "/min"))?;
    bench.report.say(format_args!("  {}", played.verdict))?;
    Ok(())
}

struct Played {
    tasks: f64,
    steps: f64,
    took: Duration,
    verdict: String,
}

/// Counts the steps that were done.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Witness for Counter {
    fn sees(&self, moment: Moment) {
        match moment {
            Moment::Done { .. } => {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
            Moment::Claimed { .. } | Moment::Appended { .. } | Moment::PutBack { .. } => {}
        }
    }
}

async fn play(bed: &Bed, outside: &TempDir) -> anyhow::Result<Played> {
    let counter = Arc::new(Counter::default());
    let ledger = Ledger::open(outside.path())?;
    let world = Arc::new(World::new(ledger.clone(), AnyClock::System));
    let settings = Settings {
        places: Places { total: 32, per_repository: 8, per_person: 32 },
        lease: Duration::from_secs(30),
        look_every: Duration::from_secs(1),
        witness: Arc::clone(&counter) as Arc<dyn Witness>,
        ..World::settings("bench")
    };
    let engine = Engine::new(Arc::clone(&bed.store), world, settings);
    let tasks = submit(&engine).await?;

    let (stop, begun) = (CancellationToken::new(), Instant::now());
    let finished = async {
        let took = until_all_are_done(&engine, begun).await;
        stop.cancel();
        took
    };
    let deciding = people::decide_until(&engine, &AnyClock::System, stop.clone());
    let ((), (), took) = tokio::join!(engine.run(stop.clone()), deciding, finished);
    let verdict = inspect(&bed.store, &ledger, &tasks).await?;
    ensure!(verdict.is_clean(), "{verdict}");
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let (tasks, steps) = (tasks.len() as f64, counter.0.load(Ordering::Relaxed) as f64);
    Ok(Played { tasks, steps, took: took?, verdict: verdict.to_string() })
}

async fn submit(engine: &Engine<World>) -> anyhow::Result<Vec<TaskId>> {
    let mut submitting = JoinSet::new();
    for number in 0..TASKS {
        let engine = engine.clone();
        let trigger = testkit::trigger(&format!("acme/web-{}", number % 8), "fix the login")?;
        submitting.spawn(async move { engine.submit(trigger, Limits::default()).await });
    }
    let mut tasks = Vec::new();
    while let Some(joined) = submitting.join_next().await {
        tasks.push(joined??);
    }
    Ok(tasks)
}

/// Waits until every task is done and nothing is left to do; says when that was.
async fn until_all_are_done(engine: &Engine<World>, begun: Instant) -> anyhow::Result<Duration> {
    let filter = Filter { stage: Some("done".to_owned()), ..Filter::default() };
    let size = Page::LONGEST;
    loop {
        let done = engine.store().tasks(&filter, Page { before: None, size }).await?.len();
        if done == TASKS && engine.store().next_due().await?.is_none() {
            return Ok(begun.elapsed());
        }
        ensure!(begun.elapsed() < Duration::from_mins(3), "only {done} of {TASKS} are done");
        let soon = AnyClock::System.now() + Duration::from_millis(100);
        AnyClock::System.sleep_until(soon).await;
    }
}

/// A directory for the scripted outside, and where it is in words.
pub(crate) fn outside(bench: &Bench) -> anyhow::Result<(TempDir, &'static str)> {
    if Path::new(MEMORY).is_dir() {
        let made = tempfile::Builder::new().prefix("bench-outside-").tempdir_in(MEMORY);
        if let Ok(directory) = made {
            return Ok((directory, "in memory"));
        }
    }
    Ok((bench.directory()?, "on disk: this machine has no place for files in memory"))
}
