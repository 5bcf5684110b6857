//! How long it takes to read a long history and to know from it where the task stands.

use std::time::{Duration, Instant};

use anyhow::ensure;
use domain::{id::PersonId, task::Event};

use crate::{
    Bench,
    lives::{Asker, Life, requested},
    report::Figure,
    spread::Spread,
};

const EVENTS: usize = 10_000;
const AT_ONCE: usize = 1_000;
const TIMES: usize = 50;

pub async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    bench.report.section("A task with 10,000 events, SQLite")?;
    let bed = bench.sqlite().await?;
    let person = PersonId::from_u128(1);
    let asker = Asker { person, repository: "acme/web".to_owned() };
    let message = Event::Messaged { by: person, text: "and please keep the old tests".to_owned() };
    let mut life = Life::new();
    life.append(&bed.store, vec![requested(&asker)?]).await?;
    let mut left = EVENTS - 1;
    while left > 0 {
        let now = left.min(AT_ONCE);
        life.append(&bed.store, vec![message.clone(); now]).await?;
        left -= now;
    }
    let (mut reading, mut replaying) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let begun = Instant::now();
        let history = bed.store.history(life.id).await?;
        reading.push(begun.elapsed());
        ensure!(history.events.len() == EVENTS, "{} events", history.events.len());
        let begun = Instant::now();
        ensure!(history.task().is_some(), "the history tells of no task");
        replaying.push(begun.elapsed());
    }
    bed.store.close().await;
    bench.report.add(figure("read from the database", reading))?;
    bench.report.add(figure("replay in memory", replaying))?;
    Ok(())
}

fn figure(what: &str, times: Vec<Duration>) -> Figure {
    let spread = Spread::of(times);
    Figure::new(what, spread.p50.as_secs_f64() * 1_000.0, "ms").note(spread)
}
