//! How fast a sandbox is, beside the least that the machine takes and beside what people use today.
//!
//! | module | what it holds |
//! |---|---|
//! | [`floor`] | `posix_spawn` and `fork` + `exec` of `/bin/true`, from a small process |
//! | [`rivals`], `daemon` | `unshare`, `bwrap`, `crun`, `runc`, `podman`, `docker` |
//! | [`ground`] | a provider in this process: limits on, a network namespace each |
//! | [`repository`] | 50,000 files, on the host and in an image |
//! | [`race`] | all of them in turn, in one run |
//! | [`crowd`] | many at once |
//! | [`verdict`] | what was promised, and whether it is kept |

pub mod crowd;
mod daemon;
pub mod floor;
pub mod ground;
pub mod race;
pub mod repository;
pub mod rivals;
pub mod verdict;

use std::time::Duration;

use tokio::task::JoinSet;

use crate::{Bench, report::Figure, spread};

use floor::Floor;
use ground::{Base, Ground};
use race::{Race, Times};
use repository::{Repository, Snapshots};
use rivals::Missing;

/// How often everything is tried, where nobody says otherwise.
pub const ROUNDS: usize = 100;

/// How many wait of each kind, where computers wait.
const WAITING: u32 = 2;

/// How long each measure of many at once takes.
const TIME: Duration = Duration::from_secs(4);

const SNAPSHOTS: &str = "`git status` in a snapshot on the host";

/// How many stand side by side.
const PARKED: usize = 1_000;

pub async fn run(bench: &mut Bench, rounds: usize) -> anyhow::Result<()> {
    let title =
        format!("Sandboxes: {rounds} rounds, everything in turn, limits and network namespace on");
    bench.report.section(&title)?;
    let at = bench.directory()?;
    let disk = bench.disk.clone();
    let repository = tokio::task::block_in_place(|| Repository::make(at.path()))?;
    let cold = Ground::new(&disk, "cold", 0).await?;
    let warm = Ground::new(&disk, "warm", WAITING).await?;
    let grounds = (cold.clone(), warm.clone());
    // As the server does it: in a task of its own, not on the thread that waits for everything.
    let mut racing = JoinSet::new();
    racing.spawn(async move { race(repository, grounds, at.path(), rounds).await });
    let raced = racing.join_next().await;
    let many = match raced {
        Some(Ok(Ok(raced))) => {
            tell(bench, &raced)?;
            crowds(bench, &cold).await
        }
        Some(Ok(Err(error))) => Err(error),
        Some(Err(error)) => Err(error.into()),
        None => Ok(()),
    };
    // Whatever happened, nothing stays behind.
    let (cold, warm) = (cold.close().await, warm.close().await);
    many.and(cold).and(warm)
}

/// Only many at once.
pub async fn many(bench: &mut Bench) -> anyhow::Result<()> {
    let ground = Ground::new(&bench.disk, "many", 0).await?;
    let many = crowds(bench, &ground).await;
    let closed = ground.close().await;
    many.and(closed)
}

struct Raced {
    times: Times,
    rivals: Vec<(&'static str, &'static str)>,
    missing: Vec<Missing>,
    built: Duration,
}

async fn race(
    repository: Repository,
    (cold, warm): (Ground, Ground),
    at: &std::path::Path,
    rounds: usize,
) -> anyhow::Result<Raced> {
    let (cold_image, built) = repository.image(&cold).await?;
    let (warm_image, _) = repository.image(&warm).await?;
    let (rivals, missing) = rivals::all(at).await?;
    let names = rivals.iter().map(|rival| (rival.name, rival.lacks)).collect();
    let floor = Floor::start()?;
    let pool = cold.data.join("disks/pool");
    let (snapshots, missing) = match Snapshots::make(&repository, &pool) {
        Ok(snapshots) => (Some(snapshots), missing),
        Err(reason) => {
            let missing = missing.into_iter().chain([Missing { name: SNAPSHOTS, reason }]);
            (None, missing.collect())
        }
    };
    let mut race =
        Race { floor, cold, warm, cold_image, warm_image, repository, snapshots, rivals };
    let times = race.run(rounds).await?;
    Ok(Raced { times, rivals: names, missing, built })
}

fn tell(bench: &mut Bench, raced: &Raced) -> anyhow::Result<()> {
    let Raced { times, rivals, missing, built } = raced;
    let (image, files) = (spread::Short(*built), repository::FILES);
    bench.report.say(format_args!("  (the image with {files} files was built in {image})"))?;
    for Missing { name, reason } in missing {
        bench.report.say(format_args!("  MISSING here, not measured: {name}: {reason}"))?;
    }
    verdict::beside(&mut bench.report, times, rivals)?;
    verdict::promised(&mut bench.report, times)
}

async fn crowds(bench: &mut Bench, ground: &Ground) -> anyhow::Result<()> {
    bench.report.section("Sandboxes: many at once, on the `host` base, two cores")?;
    let private = crowd::private_kib(ground).await?;
    bench.report.add(verdict::memory(private))?;
    for callers in [1, 8, 32] {
        let rate = crowd::come_and_go(ground, callers, TIME).await?;
        bench.report.add(verdict::rate(callers, rate))?;
    }
    let before = crowd::available_kib()?;
    let begun = std::time::Instant::now();
    let ids = crowd::park(ground, &Base::host(), PARKED).await?;
    let opened = begun.elapsed();
    let taken = before.saturating_sub(crowd::available_kib()?);
    let parked = ids.len();
    for id in ids.iter().step_by(50) {
        ground.exec(*id, &[floor::PROGRAM], "/").await?;
    }
    let begun = std::time::Instant::now();
    crowd::clear(ground, ids).await?;
    let figure = verdict::parked(parked, taken).note(format_args!(
        "opened in {}, all gone in {}, nothing left",
        spread::Short(opened),
        spread::Short(begun.elapsed())
    ));
    add(bench, figure)
}

fn add(bench: &mut Bench, figure: Figure) -> anyhow::Result<()> {
    Ok(bench.report.add(figure)?)
}
