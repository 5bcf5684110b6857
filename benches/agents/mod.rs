//! What our house adds to an agent: until its model is asked, until it says something, and in memory.
//!
//! ```text
//!  bare:  this program ── the agent's own language ──▶ the agent, on the host ──────────────────┐
//!                                                                                               ├──▶ the scripted model (here)
//!  ours:  lamp agent run ──▶ lamp up ──▶ the agent, in a sandbox that is there ──▶ gateway ────┘
//! ```
//!
//! Both are the same program at the same version, started by the same `launch`, told the same words, in the same small repository.
//! The one has a home and a connection to the model, the other our whole house.
//!
//! | module | what it holds |
//! |---|---|
//! | [`cast`] | who is measured |
//! | [`model`] | who is asked, and when that was |
//! | [`project`] | the repository that they work in |
//! | [`shelf`] | the programs on the host, installed as our images have them |
//! | [`bare`], [`speech`] | a program on the host, and what is said to it |
//! | [`house`], [`ours`] | our server, and a program in a sandbox of it |
//! | [`memory`] | what processes have |
//! | [`verdict`] | what was promised, and whether it is kept |
//!
//! **Invariant:** whatever happens, no process and no sandbox stays behind. Images and programs do, so that the next run finds them.

pub mod bare;
pub mod cast;
pub mod house;
pub mod memory;
pub mod model;
pub mod ours;
pub mod project;
pub mod shelf;
pub mod speech;
pub mod verdict;

use std::time::{Duration, Instant};

use crate::{Bench, sandbox::ground::rest, spread::Short};

use bare::Bare;
use cast::{Actor, CAST};
use house::House;
use model::{Scripted, Will};
use ours::Ours;
use shelf::Shelf;
use verdict::{Measured, Weighed};

/// How often each is started, on either side. One more start on either side comes before, and is not counted.
const ROUNDS: usize = 5;

/// How often memory is looked at.
const LOOKS: usize = 3;

/// How long a program waits for its model before its memory is looked at: by then it has started what it starts.
const SETTLING: Duration = Duration::from_secs(1);

/// The longest that one start may take, until the program has spoken.
const LONGEST: Duration = Duration::from_mins(1);

/// What is asked for. The model does not look at it.
const REQUEST: &str = "Say in one sentence what is wrong with the sum.";

/// One program that is ready on both sides.
#[derive(Debug)]
struct Pair<'a> {
    bare: Bare,
    ours: Ours<'a>,
    measured: Measured,
}

pub async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let title = format!(
        "Agents: bare on the host, and in a sandbox that is there; told the same, {ROUNDS} rounds in turn"
    );
    bench.report.section(&title)?;
    // Beside the builds and not below one of them, so that images are found again by all.
    let kept = bench.disk.join("agents");
    let scratch = bench.directory()?;
    let project = project::make(&kept)?;
    let model = Scripted::start().await?;
    let shelf = Shelf::at(&kept.join("shelf"));
    let house = House::start(&kept.join("house"), model.port).await?;
    let mut pairs = Vec::new();
    for actor in CAST {
        let begun = Instant::now();
        let pair = prepare(actor, &house, &model, &shelf, (&project, scratch.path())).await;
        match pair {
            Ok(pair) => {
                let took = Short(begun.elapsed());
                bench.report.say(format_args!("  ({actor} was ready in {took})"))?;
                pairs.push(pair);
            }
            // A registry that is not there is told; what we bring along has no excuse.
            Err(error) if actor.is_installed() => {
                bench
                    .report
                    .say(format_args!("  MISSING here, not measured: {actor}: {error:#}"))?;
            }
            Err(error) => return Err(error),
        }
    }
    race(&mut pairs, &model).await?;
    weigh(&mut pairs, &house, &model).await?;
    for pair in &pairs {
        verdict::tell(&mut bench.report, &pair.measured)?;
    }
    for pair in pairs {
        pair.ours.close().await?;
    }
    house.close().await
}

/// Installs it, builds its image, makes its sandbox, and has it work once on either side.
async fn prepare<'a>(
    actor: Actor,
    house: &'a House,
    model: &Scripted,
    shelf: &Shelf,
    (project, scratch): (&std::path::Path, &std::path::Path),
) -> anyhow::Result<Pair<'a>> {
    shelf.install(actor.program()?).await?;
    let (ours, prompt) = Ours::open(house, actor, project, model).await?;
    let bare = Bare::new(actor, shelf, scratch, project, model.port, prompt)?;
    bare.speaks(model).await?;
    Ok(Pair { bare, ours, measured: Measured::of(actor) })
}

/// All of them in turn, and each time the other side first.
async fn race(pairs: &mut [Pair<'_>], model: &Scripted) -> anyhow::Result<()> {
    model.will(Will::Answer);
    for round in 0..ROUNDS {
        for Pair { bare, ours, measured } in &mut *pairs {
            if round % 2 == 0 {
                measured.bare.push(bare.speaks(model).await?);
                measured.ours.push(ours.speaks(model).await?);
            } else {
                measured.ours.push(ours.speaks(model).await?);
                measured.bare.push(bare.speaks(model).await?);
            }
        }
    }
    Ok(())
}

/// What each has while it waits for its model.
async fn weigh(pairs: &mut [Pair<'_>], house: &House, model: &Scripted) -> anyhow::Result<()> {
    model.will(Will::Hang);
    for _ in 0..LOOKS {
        for Pair { bare, ours, measured } in &mut *pairs {
            let waiting = bare.waits(model).await?;
            rest(SETTLING).await;
            let bare = memory::of_tree(waiting.first())?;
            waiting.end().await?;

            let before = house.own_kib()?;
            let waiting = ours.waits(model).await?;
            rest(SETTLING).await;
            let weighed = Weighed {
                bare,
                inside: memory::of_namespace(ours.first_process()?)?,
                charged: ours.charged_kib().await?,
                server: house.own_kib()?.saturating_sub(before),
            };
            measured.weighed.push(weighed);
            waiting.end().await?;
        }
    }
    Ok(())
}
