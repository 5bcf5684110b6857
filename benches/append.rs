//! How many events are kept per second: each one flushed to disk before its caller hears of it.
//!
//! Every appender lives the whole life of one task after another, one event per operation, with all
//! that an event brings along: the task's view, the outbox rows, the audit row.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::id::PersonId;
use store::Store;
use testkit::postgres::{Durability, Postgres};
use tokio::task::JoinSet;

use crate::{
    Bench, alternatives,
    lives::{Asker, Life, until_merged},
    report::{Figure, Goal},
    spread::Spread,
};

/// How long each measure takes.
const TIME: Duration = Duration::from_secs(4);
const MANY: usize = 64;
const PROMISED: f64 = 2_000.0;

/// What came out of one measure.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    pub per_second: f64,
    pub spread: Spread,
}

pub async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    bench.report.section("Appended events, each flushed to disk before its caller hears of it")?;
    let file = alternatives::json_lines(&bench.directory()?, TIME)?;
    let naive = alternatives::plain_sqlite(&bench.directory()?, TIME).await?;
    let title = "a file of JSON lines, fsync per event";
    bench.report.add(figure(title, file))?;
    let title = "a table in SQLite, a transaction per event";
    bench.report.add(figure(title, naive))?;

    let bed = bench.sqlite().await?;
    let one = measure(&bed.store, 1).await?;
    let many = measure(&bed.store, MANY).await?;
    bed.store.close().await;
    let beside = |rate: Rate| {
        let ratio = |other: Rate| rate.per_second / other.per_second;
        format!("{:.1} × the plain table, {:.1} × the file", ratio(naive), ratio(file))
    };
    let sqlite = figure("our store on SQLite, 1 appender", one).note(beside(one));
    bench.report.add(sqlite)?;
    let sqlite = figure(&format!("our store on SQLite, {MANY} appenders"), many);
    bench.report.add(sqlite.note(beside(many)).goal(Goal::AtLeast(PROMISED)))?;

    for (durability, label) in
        [(Durability::Kept, "fsync on"), (Durability::Forgotten, "fsync off")]
    {
        let server = Postgres::start_with(durability)?;
        let bed = bench.postgres(&server.url()).await?;
        for appenders in [1, MANY] {
            let rate = measure(&bed.store, appenders).await?;
            let plural = if appenders == 1 { "" } else { "s" };
            let title = format!("our store on PostgreSQL, {label}, {appenders} appender{plural}");
            bench.report.add(figure(&title, rate))?;
        }
        bed.store.close().await;
    }
    Ok(())
}

fn figure(what: &str, rate: Rate) -> Figure {
    Figure::new(what, rate.per_second, "events/s").note(rate.spread)
}

async fn measure(store: &Arc<Store>, appenders: usize) -> anyhow::Result<Rate> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..appenders {
        running.spawn(live_on(Arc::clone(store), number, begun + TIME));
    }
    let mut times = Vec::new();
    while let Some(joined) = running.join_next().await {
        times.extend(joined??);
    }
    Ok(Rate::of(times, begun.elapsed()))
}

/// Lives one task after another until `end`; returns how long each append took.
async fn live_on(store: Arc<Store>, number: usize, end: Instant) -> anyhow::Result<Vec<Duration>> {
    let asker = Asker {
        person: PersonId::from_u128(100 + number as u128),
        repository: format!("acme/web-{}", number % 8),
    };
    let mut times = Vec::new();
    while Instant::now() < end {
        let mut life = Life::new();
        for event in until_merged(&asker)? {
            let begun = Instant::now();
            life.append(&store, vec![event]).await?;
            times.push(begun.elapsed());
            if Instant::now() >= end {
                break;
            }
        }
    }
    Ok(times)
}

impl Rate {
    #[expect(clippy::cast_precision_loss, reason = "no machine counts that far in a few seconds")]
    pub fn of(times: Vec<Duration>, took: Duration) -> Self {
        Self { per_second: times.len() as f64 / took.as_secs_f64(), spread: Spread::of(times) }
    }
}
