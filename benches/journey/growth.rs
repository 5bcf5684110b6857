//! Memory of a server that has worked: what is resident of it after 10, 100 and 1,000 whole tasks, and what of that is its own.
//!
//! The tasks are played one after the other, by the program without a model and every tenth by the built-in agent. A server is looked at when it
//! has had nothing to do for a while, as in [`super::verdict`].

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Idle, actor, files, play, repository, story::Teller, verdict, weigh};
use crate::{
    Bench,
    agents::{house, house::House},
    report::{Figure, Goal},
};

/// After how many tasks it is looked at, if so many are played.
const STATIONS: [usize; 8] = [0, 10, 50, 100, 200, 500, 750, 1_000];

/// From here on it may not grow.
const SETTLED: usize = 100;

/// The most that the spread of one measurement hides, in MiB.
const FLAT: f64 = 2.0;

/// What is played, and by which program.
#[derive(Debug)]
pub struct Effort {
    pub tasks: usize,
    /// The program; built as this one is, where none is named.
    pub lamp: Option<PathBuf>,
}

pub async fn run(bench: &mut Bench, effort: Effort) -> anyhow::Result<()> {
    let Effort { tasks, lamp } = effort;
    let lamp = match lamp {
        Some(lamp) => lamp,
        None => house::build().await?,
    };
    let scratch = bench.directory()?;
    bench.report.section("Growth: memory of a server that has worked")?;
    let looked = Box::pin(measure(bench, lamp, tasks, scratch.path())).await?;
    let settled = looked.iter().find(|idle| idle.after_tasks == SETTLED);
    if let (Some(settled), Some(last)) = (settled, looked.last())
        && last.after_tasks > SETTLED
    {
        let grown = verdict::mib(last.server.resident) - verdict::mib(settled.server.resident);
        let what = format!("grown between {SETTLED} and {} tasks", last.after_tasks);
        bench.report.add(Figure::new(what, grown, "MiB").goal(Goal::AtMost(FLAT)))?;
    }
    Ok(())
}

async fn measure(
    bench: &mut Bench,
    lamp: PathBuf,
    tasks: usize,
    scratch: &Path,
) -> anyhow::Result<Vec<Idle>> {
    let repository = repository::make(&scratch.join("sums"))?;
    let teller = Teller::start().await?;
    let house = House::open(lamp, &scratch.join("data"), &files(teller.port)).await?;
    let client = house.client();
    let mut looked = Vec::new();
    for done in 0..=tasks {
        if STATIONS.contains(&done) || done == tasks {
            let idle = weigh(&house, done).await?;
            verdict::tell_idle(&mut bench.report, &idle)?;
            looked.push(idle);
        }
        if done < tasks {
            let agent = if done % 10 == 9 { "builtin" } else { actor::NAME };
            let played = play::whole(&client, agent, &repository).await;
            played.with_context(|| format!("task {} of {agent}", done + 1))?;
        }
    }
    house.close().await?;
    Ok(looked)
}
