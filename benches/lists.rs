//! How long it takes to list a page of 50 tasks, and that it does not matter how many there are.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    id::{PersonId, TaskId},
    task::Event,
};
use store::{Filter, Page, Store};
use tokio::task::JoinSet;

use crate::{
    Bench,
    lives::{Asker, Life, requested, until_approval, until_cancelled, until_merged},
    report::{Figure, Goal},
    spread::{Short, Spread},
};

const FEW: usize = 10_000;
const MANY: usize = 100_000;
/// How many tasks are made at the same time.
const MAKERS: usize = 128;
const LOOKS: usize = 200;
const PROMISED_MILLIS: f64 = 20.0;

const PEOPLE: usize = 25;
const REPOSITORIES: usize = 40;
/// Someone who left long ago: their 30 tasks are the oldest of all.
const FORMER_COLLEAGUE: PersonId = PersonId::from_u128(9);
const OLD_TASKS: usize = 30;

pub async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let title = "A page of 50 tasks, SQLite: among 10,000 and among 100,000";
    bench.report.section(title)?;
    let bed = bench.sqlite().await?;
    let begun = Instant::now();
    make(&bed.store, 0..FEW).await?;
    let among_few = look_at_all(&bed.store).await?;
    make(&bed.store, FEW..MANY).await?;
    let made = begun.elapsed();
    let among_many = look_at_all(&bed.store).await?;
    bed.store.close().await;
    for ((name, few), (_, many)) in among_few.into_iter().zip(among_many) {
        let ratio = many.p50.as_secs_f64() / few.p50.as_secs_f64();
        let figure = Figure::new(name, many.p99.as_secs_f64() * 1_000.0, "ms p99")
            .note(format_args!("p50 {} → {}, × {ratio:.1}", Short(few.p50), Short(many.p50)))
            .goal(Goal::AtMost(PROMISED_MILLIS));
        bench.report.add(figure)?;
    }
    let each = format!("{MANY} tasks of 1 to 13 events, {MAKERS} at a time");
    bench.report.add(Figure::new("making the tasks", made.as_secs_f64(), "s").note(each))?;
    Ok(())
}

/// Makes tasks with the given numbers. Most are new, because those are made quickest; the lists do not
/// care which stage is the common one.
async fn make(store: &Arc<Store>, numbers: std::ops::Range<usize>) -> anyhow::Result<()> {
    let mut making = JoinSet::new();
    for maker in 0..MAKERS {
        let store = Arc::clone(store);
        let mine = numbers.clone().skip(maker).step_by(MAKERS);
        making.spawn(async move {
            for number in mine {
                Life::new().append(&store, life(number)?).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(joined) = making.join_next().await {
        joined??;
    }
    Ok(())
}

fn life(number: usize) -> anyhow::Result<Vec<Event>> {
    let person = if number < OLD_TASKS {
        FORMER_COLLEAGUE
    } else {
        PersonId::from_u128(100 + (number % PEOPLE) as u128)
    };
    let repository = format!("acme/service-{}", number / 7 % REPOSITORIES);
    let asker = Asker { person, repository };
    match number % 100 {
        0 => until_merged(&asker),
        1 => until_approval(&asker),
        2..12 => until_cancelled(&asker),
        _new => Ok(vec![requested(&asker)?]),
    }
}

type Looked = Vec<(&'static str, Spread)>;

async fn look_at_all(store: &Store) -> anyhow::Result<Looked> {
    let someone = Some(PersonId::from_u128(100 + 5));
    let repository = Some("acme/service-3".parse()?);
    let stage = |name: &str| Some(name.to_owned());
    let all = Filter::default();
    let filters = [
        ("all", all.clone()),
        ("by repository", Filter { repository: repository.clone(), ..all.clone() }),
        ("by person", Filter { person: someone, ..all.clone() }),
        ("by stage, common (queued)", Filter { stage: stage("queued"), ..all.clone() }),
        (
            "by stage, rare (awaiting approval)",
            Filter { stage: stage("awaiting approval"), ..all.clone() },
        ),
        ("by stage, none there (paused)", Filter { stage: stage("paused"), ..all.clone() }),
        (
            "by person and repository",
            Filter { person: someone, repository: repository.clone(), stage: None },
        ),
        (
            "by person and stage",
            Filter { person: someone, stage: stage("cancelled"), repository: None },
        ),
        ("by all three", Filter { person: someone, stage: stage("queued"), repository }),
        (
            "by a colleague with 30 old tasks, and stage",
            Filter { person: Some(FORMER_COLLEAGUE), stage: stage("queued"), repository: None },
        ),
    ];
    let mut looked = Vec::new();
    for (name, filter) in filters {
        looked.push((name, look(store, &filter, None).await?));
    }
    let middle = middle(store).await?;
    looked.push(("all, a page from the middle", look(store, &Filter::default(), middle).await?));
    looked.push(("the approvals inbox", look_at_inbox(store).await?));
    Ok(looked)
}

async fn look(store: &Store, filter: &Filter, before: Option<TaskId>) -> anyhow::Result<Spread> {
    let mut times = Vec::new();
    let page = Page { before, ..Page::default() };
    // The worst of a slow one is known after a few looks.
    let patience = Instant::now() + Duration::from_secs(2);
    while times.len() < LOOKS && Instant::now() < patience {
        let begun = Instant::now();
        store.tasks(filter, page).await?;
        times.push(begun.elapsed());
    }
    Ok(Spread::of(times))
}

async fn look_at_inbox(store: &Store) -> anyhow::Result<Spread> {
    let mut times = Vec::new();
    while times.len() < LOOKS {
        let begun = Instant::now();
        store.inbox(Page::default()).await?;
        times.push(begun.elapsed());
    }
    Ok(Spread::of(times))
}

/// A task with about as many before it as after it: ids sort by age.
async fn middle(store: &Store) -> anyhow::Result<Option<TaskId>> {
    let ends = |task: Option<&store::TaskView>| task.map(|view| view.task.as_u128());
    let old = Filter { person: Some(FORMER_COLLEAGUE), ..Filter::default() };
    let oldest = ends(store.tasks(&old, Page::default()).await?.last());
    let newest = ends(store.tasks(&Filter::default(), Page::default()).await?.first());
    Ok(oldest.zip(newest).map(|(old, new)| TaskId::from_u128(old + (new - old) / 2)))
}
