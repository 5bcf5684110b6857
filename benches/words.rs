//! How many words of agents are kept per second: events of transcripts, handed over in batches as the engine does it, each batch
//! flushed to disk before its caller hears of it. To be read beside what `append` says of the events of tasks.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use contracts::{
    clock::{Clock as _, SystemClock},
    ids::IdSource as _,
};
use domain::{id::PersonId, transcript::AgentEvent};
use store::{Saying, Store};
use testkit::{
    ids::SystemIds,
    postgres::{Durability, Postgres},
};
use tokio::task::JoinSet;

use crate::{
    Bench,
    append::Rate,
    lives::{Asker, Life, requested},
    report::Figure,
};

/// How long each measure takes.
const TIME: Duration = Duration::from_secs(4);
const MANY: usize = 16;
/// Events that go together.
const BATCH: u32 = 64;
/// Batches of one task: fewer than its limit.
const BATCHES: u64 = 1_000;

pub async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let section = format!("Words of agents, {BATCH} messages of 200 bytes in a transaction");
    bench.report.section(&section)?;
    let bed = bench.sqlite().await?;
    for agents in [1, MANY] {
        let rate = measure(&bed.store, agents).await?;
        bench.report.add(figure("our store on SQLite", agents, rate))?;
    }
    bed.store.close().await;
    let server = Postgres::start_with(Durability::Kept)?;
    let bed = bench.postgres(&server.url()).await?;
    for agents in [1, MANY] {
        let rate = measure(&bed.store, agents).await?;
        bench.report.add(figure("our store on PostgreSQL, fsync on", agents, rate))?;
    }
    bed.store.close().await;
    Ok(())
}

fn figure(what: &str, agents: usize, rate: Rate) -> Figure {
    let plural = if agents == 1 { "" } else { "s" };
    let title = format!("{what}, {agents} agent{plural}");
    let events = rate.per_second * f64::from(BATCH);
    Figure::new(&title, events, "events/s").note(rate.spread)
}

async fn measure(store: &Arc<Store>, agents: usize) -> anyhow::Result<Rate> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..agents {
        running.spawn(talk_on(Arc::clone(store), number, begun + TIME));
    }
    let mut times = Vec::new();
    while let Some(joined) = running.join_next().await {
        times.extend(joined??);
    }
    Ok(Rate::of(times, begun.elapsed()))
}

/// Talks in one task after another until `end`; returns how long each batch took.
async fn talk_on(store: Arc<Store>, number: usize, end: Instant) -> anyhow::Result<Vec<Duration>> {
    let asker = Asker {
        person: PersonId::from_u128(100 + number as u128),
        repository: format!("acme/web-{}", number % 8),
    };
    let mut times = Vec::new();
    while Instant::now() < end {
        let mut life = Life::new();
        life.append(&store, vec![requested(&asker)?]).await?;
        let speaker = SystemIds.next();
        for batch in 0..BATCHES {
            let at = SystemClock.now();
            let word = |number| AgentEvent::Message { number, text: "word ".repeat(40) };
            let events = (0..BATCH).map(|number| (at, word(number))).collect();
            let before = batch * u64::from(BATCH);
            let begun = Instant::now();
            let saying = Saying { task: life.id, run: 1, speaker, before, events };
            store.append_transcript(saying).await?;
            times.push(begun.elapsed());
            if Instant::now() >= end {
                break;
            }
        }
    }
    Ok(times)
}
