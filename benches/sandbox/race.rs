//! Everything that has a time, in turn: each round tries each thing once, in another order.
//!
//! A machine's speed changes from minute to minute with its neighbours. What stands side by side in a round had the same
//! machine, so ratios hold where absolute times do not. After each trial a moment passes, so that nobody pays for what the
//! one before cleans up.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use contracts::sandbox::Sandboxes as _;
use domain::id::SandboxId;

use super::{
    floor::{Floor, PROGRAM, Way},
    ground::{Base, Ground, rest},
    repository::{INSIDE, Repository, Snapshots},
    rivals::Rival,
};
use crate::spread::Spread;

/// Between two trials.
const PAUSE: Duration = Duration::from_millis(30);

/// What a time is the time of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    Floor(Way),
    /// From the call that creates until the first command's exit is known; nothing was waiting.
    Cold(On),
    /// The first part of it: created, and ready for a command.
    Open(On),
    /// The same as [`Mark::Cold`] where a computer waited.
    Warm(On),
    /// A command with its output, in a sandbox that runs.
    Running(On),
    Destroy,
    Freeze,
    Thaw,
    /// Resting, opened again, and a command run.
    Resume,
    /// `git status` on the host, in a checkout that was looked at before.
    HostStatus,
    /// The same in a new snapshot of it, which nobody has looked at.
    SnapshotStatus,
    /// The first one in a sandbox that was made for it.
    FirstStatus,
    SecondStatus,
    /// The first one in a sandbox that waited.
    ClaimedStatus,
    Rival(&'static str),
}

/// What a sandbox stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    Host,
    /// An image with the repository of 50,000 files.
    Image,
}

/// What is done in one turn.
#[derive(Debug, Clone, Copy)]
enum Trial {
    Floor(Way),
    Cold(On),
    Warm(On),
    Running(On),
    Pause,
    Resume,
    HostStatus,
    SnapshotStatus,
    InsideStatus,
    ClaimedStatus,
    /// By its place.
    Rival(usize),
}

#[derive(Debug)]
pub struct Race {
    pub floor: Floor,
    /// Nothing waits.
    pub cold: Ground,
    /// Computers wait.
    pub warm: Ground,
    pub cold_image: Base,
    pub warm_image: Base,
    pub repository: Repository,
    /// Where the host has a file system that makes them.
    pub snapshots: Option<Snapshots>,
    pub rivals: Vec<Rival>,
}

#[derive(Debug, Default)]
pub struct Times {
    all: BTreeMap<Mark, Vec<Duration>>,
}

impl Times {
    fn add(&mut self, mark: Mark, time: Duration) {
        self.all.entry(mark).or_default().push(time);
    }

    pub fn spread(&self, mark: Mark) -> Spread {
        Spread::of(self.all.get(&mark).cloned().unwrap_or_default())
    }

    pub fn count(&self, mark: Mark) -> usize {
        self.all.get(&mark).map_or(0, Vec::len)
    }
}

/// Sandboxes that run through the whole race.
struct Standing {
    host: SandboxId,
    image: SandboxId,
    resting: SandboxId,
}

impl Race {
    pub async fn run(&mut self, rounds: usize) -> anyhow::Result<Times> {
        let (host, image) = (Base::host(), self.cold_image.clone());
        let standing = Standing {
            host: self.cold.open(&host).await?,
            image: self.cold.open(&image).await?,
            resting: self.cold.open(&host).await?,
        };
        let mut times = Times::default();
        // The first round warms everything up, and does not count.
        for round in 0..=rounds {
            let mut trials = self.trials(round);
            shuffle(&mut trials, round);
            for trial in trials {
                self.attempt(trial, &standing, &mut times).await?;
                rest(PAUSE).await;
            }
            if round == 0 {
                times = Times::default();
            }
        }
        for id in [standing.host, standing.image, standing.resting] {
            self.cold.destroy(id).await?;
        }
        Ok(times)
    }

    fn trials(&self, round: usize) -> Vec<Trial> {
        let mut trials = vec![
            Trial::Floor(Way::PosixSpawn),
            Trial::Floor(Way::ForkExec),
            Trial::Cold(On::Host),
            Trial::Cold(On::Image),
            Trial::Warm(On::Host),
            Trial::Warm(On::Image),
            Trial::Running(On::Host),
            Trial::Running(On::Image),
            Trial::Pause,
            Trial::Resume,
        ];
        if round.is_multiple_of(10) {
            trials.extend([Trial::HostStatus, Trial::InsideStatus, Trial::ClaimedStatus]);
            if self.snapshots.is_some() {
                trials.push(Trial::SnapshotStatus);
            }
        }
        let due =
            self.rivals.iter().enumerate().filter(|(_, rival)| round.is_multiple_of(rival.every));
        trials.extend(due.map(|(place, _)| Trial::Rival(place)));
        trials
    }

    async fn attempt(
        &mut self,
        trial: Trial,
        standing: &Standing,
        times: &mut Times,
    ) -> anyhow::Result<()> {
        match trial {
            Trial::Floor(way) => {
                let took = tokio::task::block_in_place(|| self.floor.measure(way))?;
                times.add(Mark::Floor(way), took);
            }
            Trial::Rival(place) => {
                if let Some(rival) = self.rivals.get_mut(place) {
                    let took = tokio::task::block_in_place(|| rival.measure())?;
                    times.add(Mark::Rival(rival.name), took);
                }
            }
            Trial::Cold(on) => {
                let base = base(on, &self.cold_image);
                let begun = Instant::now();
                let id = self.cold.open(&base).await?;
                times.add(Mark::Open(on), begun.elapsed());
                self.cold.exec(id, &[PROGRAM], "/").await?;
                times.add(Mark::Cold(on), begun.elapsed());
                rest(PAUSE).await;
                let begun = Instant::now();
                self.cold.destroy(id).await?;
                times.add(Mark::Destroy, begun.elapsed());
            }
            Trial::Warm(on) => {
                let base = base(on, &self.warm_image);
                let begun = Instant::now();
                let id = self.warm.open(&base).await?;
                self.warm.exec(id, &[PROGRAM], "/").await?;
                times.add(Mark::Warm(on), begun.elapsed());
                self.warm.destroy(id).await?;
                // The next one gets ready meanwhile, and nobody else is to pay for that.
                self.warm.until_waiting().await?;
            }
            Trial::Running(on) => {
                let id = match on {
                    On::Host => standing.host,
                    On::Image => standing.image,
                };
                let begun = Instant::now();
                let said = self.cold.exec(id, &["/bin/echo", "lamp"], "/").await?;
                times.add(Mark::Running(on), begun.elapsed());
                anyhow::ensure!(said == "lamp\n", "a command's output was lost");
            }
            Trial::Pause => {
                let begun = Instant::now();
                self.cold.provider.freeze(standing.host).await?;
                times.add(Mark::Freeze, begun.elapsed());
                let begun = Instant::now();
                self.cold.provider.thaw(standing.host).await?;
                times.add(Mark::Thaw, begun.elapsed());
            }
            Trial::Resume => {
                let begun = Instant::now();
                self.cold.provider.rest(standing.resting).await?;
                // A command wakes what rests.
                self.cold.exec(standing.resting, &[PROGRAM], "/").await?;
                times.add(Mark::Resume, begun.elapsed());
            }
            Trial::HostStatus => {
                let took = tokio::task::block_in_place(|| self.repository.status())?;
                times.add(Mark::HostStatus, took);
            }
            Trial::SnapshotStatus => {
                if let Some(snapshots) = &mut self.snapshots {
                    let took = tokio::task::block_in_place(|| snapshots.status())?;
                    times.add(Mark::SnapshotStatus, took);
                }
            }
            Trial::InsideStatus => self.status_inside(times).await?,
            Trial::ClaimedStatus => {
                let id = self.claimed_wide().await?;
                times.add(Mark::ClaimedStatus, status(&self.warm, id).await?);
                self.warm.destroy(id).await?;
                self.warm.until_waiting().await?;
            }
        }
        Ok(())
    }

    async fn status_inside(&self, times: &mut Times) -> anyhow::Result<()> {
        let id = self.cold.open_wide(&self.cold_image).await?;
        for mark in [Mark::FirstStatus, Mark::SecondStatus] {
            times.add(mark, status(&self.cold, id).await?);
        }
        self.cold.destroy(id).await
    }

    /// One with all cores that has waited.
    async fn claimed_wide(&self) -> anyhow::Result<SandboxId> {
        // In the warming round nobody has asked for one of this size yet.
        let first = self.warm.open_wide(&self.warm_image).await?;
        self.warm.destroy(first).await?;
        self.warm.until_waiting().await?;
        self.warm.open_wide(&self.warm_image).await
    }
}

async fn status(ground: &Ground, id: SandboxId) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let said = ground.exec(id, &["git", "status", "--porcelain"], INSIDE).await?;
    let took = begun.elapsed();
    anyhow::ensure!(said.is_empty(), "the checkout is not clean: {said}");
    Ok(took)
}

fn base(on: On, image: &Base) -> Base {
    match on {
        On::Host => Base::host(),
        On::Image => image.clone(),
    }
}

/// Another order in each round, and the same orders in each run.
fn shuffle<T>(items: &mut [T], round: usize) {
    let mut state = round as u64 + 1;
    for last in (1..items.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(state >> 33).unwrap_or_default() % (last + 1);
        items.swap(last, other);
    }
}
