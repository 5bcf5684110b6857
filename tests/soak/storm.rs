//! The storm: cycles of open, run and destroy, while server, guests and launcher are killed; then calm, and a look at the host.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::Context as _;

use crate::{
    cycles::Cycles,
    dice::Dice,
    host::{self, Place},
    keeper::{Keeper, PATIENCE, Victim},
    server_process::Desk,
};

/// How many cycles pass, on average, between two kills.
const CALM: u64 = 7;

#[derive(Debug, Clone)]
pub(crate) struct Orders {
    pub(crate) cycles: usize,
    pub(crate) at_once: usize,
    pub(crate) seed: u64,
    /// Where the program `sandbox-server` is.
    pub(crate) server: PathBuf,
    /// How many computers of a kind wait for somebody.
    pub(crate) waiting: u32,
}

#[derive(Debug)]
pub(crate) struct Report {
    kills: BTreeMap<Victim, u32>,
    /// Everything that is left, and everything that went wrong: a sentence each.
    pub(crate) leaks: Vec<String>,
    cycles: usize,
    disturbed: usize,
    took: Duration,
    slowest_start: Duration,
    namespaces: usize,
    pub(crate) unsupported: Vec<&'static str>,
}

impl Report {
    pub(crate) fn killed(&self, victim: Victim) -> u32 {
        self.kills.get(&victim).copied().unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycles, disturbed, took, slowest_start, namespaces, leaks, .. } = self;
        let speed = f64::from(u32::try_from(*cycles).unwrap_or(u32::MAX)) / took.as_secs_f64();
        writeln!(f, "{cycles} cycles in {:.1} s: {speed:.1} cycles/s", took.as_secs_f64())?;
        writeln!(
            f,
            "killed: {} servers, {} servers while they started, {} guests, {} launchers",
            self.killed(Victim::Server),
            self.killed(Victim::StartingServer),
            self.killed(Victim::Guest),
            self.killed(Victim::Launcher)
        )?;
        let start = slowest_start.as_millis();
        writeln!(f, "{disturbed} requests were repeated; the slowest start took {start} ms")?;
        writeln!(f, "up to {namespaces} namespaces of sandboxes at once")?;
        for what in &self.unsupported {
            writeln!(f, "unsupported: {what}")?;
        }
        write!(f, "left or wrong: {}", leaks.len())?;
        for leak in leaks {
            write!(f, "\n  {leak}")?;
        }
        Ok(())
    }
}

/// How a place looks that has seen a sandbox, and has none now.
struct Clean {
    subvolumes: Option<Vec<String>>,
    files: BTreeSet<PathBuf>,
    namespace_mounts: usize,
}

/// Runs all of it. An error means that it could not be run; what was found is in the report.
pub(crate) fn rage(orders: &Orders) -> anyhow::Result<Report> {
    host::adopt_orphans()?;
    let directory = tempfile::Builder::new().prefix("lamp").tempdir()?;
    let desk = Desk::new();
    let cycles = Cycles::new(orders.cycles, desk.clone());
    let mut keeper = Keeper::new(orders, directory.path(), desk);
    let before = play_one(&mut keeper)?;
    let started = Instant::now();
    storm(orders, &mut keeper, &cycles)?;
    let took = started.elapsed();
    calm(&mut keeper, &cycles, &before)?;
    let mut leaks = cycles.failures();
    leaks.append(&mut keeper.leaks);
    Ok(Report {
        kills: keeper.kills.clone(),
        leaks,
        cycles: orders.cycles,
        disturbed: cycles.disturbed(),
        took,
        slowest_start: keeper.slowest_start,
        namespaces: keeper.namespaces,
        unsupported: match before.subvolumes {
            Some(_) => Vec::new(),
            None => vec!["counting subvolumes and quota groups needs btrfs and its program"],
        },
    })
}

/// One sandbox in peace, so that what it leaves by right is known.
fn play_one(keeper: &mut Keeper) -> anyhow::Result<Clean> {
    let namespace_mounts = host::namespace_mounts();
    keeper.start()?;
    keeper.desk.ask_first("open 0")?;
    keeper.place.learn(&host::descendants());
    anyhow::ensure!(keeper.place.groups.is_some(), "there are no control groups here");
    keeper.desk.ask_first("run 0 first echo hello")?;
    keeper.desk.ask_first("destroy 0")?;
    // Those that wait in the pool go with their server.
    keeper.end()?;
    keeper.start()?;
    keeper.within("the first sandbox", |place| nothing("on its way", &place.disks().1));
    let subvolumes = keeper.place.pool().map(|pool| pool.subvolumes);
    keeper.end()?;
    Ok(Clean { subvolumes, files: keeper.place.files(), namespace_mounts })
}

fn storm(orders: &Orders, keeper: &mut Keeper, cycles: &Cycles) -> anyhow::Result<()> {
    keeper.start()?;
    keeper.desk.open();
    let over = AtomicBool::new(false);
    let spared = keeper.spared();
    std::thread::scope(|scope| {
        let worker = |number: usize| {
            let dice = Dice::new(orders.seed.wrapping_mul(31).wrapping_add(number as u64 + 1));
            scope.spawn(move || cycles.work(dice))
        };
        let workers: Vec<_> = (0..orders.at_once).map(worker).collect();
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                host::bury(spared.load(Ordering::Relaxed));
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        let struck = strike(orders, keeper, cycles);
        if struck.is_err() {
            cycles.give_up();
            keeper.desk.close_for_good();
        }
        let played = workers.into_iter().try_for_each(std::thread::ScopedJoinHandle::join);
        over.store(true, Ordering::Relaxed);
        struck?;
        played.ok().context("a worker panicked")
    })?;
    keeper.kill_server()
}

fn strike(orders: &Orders, keeper: &mut Keeper, cycles: &Cycles) -> anyhow::Result<()> {
    let mut dice = Dice::new(orders.seed);
    // The first tenth and the last are left in peace, so that what fails by itself shows.
    let (mut next, last) = (orders.cycles / 10, orders.cycles - orders.cycles / 10);
    loop {
        next += 1 + usize::try_from(dice.throw(2 * CALM))?;
        if next >= last {
            cycles.until(orders.cycles);
            return Ok(());
        }
        cycles.until(next);
        // Anywhere in what is under way then.
        std::thread::park_timeout(Duration::from_micros(dice.throw(20_000)));
        cycles.excuse();
        match dice.throw(6) {
            0 => {
                keeper.kill_server()?;
                // One at least, however the dice fall.
                while keeper.killed(Victim::StartingServer) == 0 || dice.throw(3) == 0 {
                    keeper.kill_while_it_starts(Duration::from_micros(dice.throw(100_000)))?;
                }
                keeper.start()?;
                keeper.look_after_start(cycles)?;
                keeper.desk.open();
            }
            1 | 2 => keeper.kill_launcher()?,
            _guest => keeper.kill_guest(&mut dice)?,
        }
        cycles.excuse();
    }
}

fn calm(keeper: &mut Keeper, cycles: &Cycles, before: &Clean) -> anyhow::Result<()> {
    keeper.start()?;
    keeper.look_after_start(cycles)?;
    for id in keeper.listed()? {
        keeper.desk.ask_first(&format!("destroy {id}"))?;
    }
    let listed = keeper.listed()?;
    if !listed.is_empty() {
        keeper.leaks.push(format!("{listed:?} are listed after their end"));
    }
    keeper.look_after_start(cycles)?;
    keeper.within("after the last end", |place| nothing("on its way", &place.disks().1));
    let pool_is_wrong = |place: &Place| {
        let pool = place.pool()?;
        // One for each, and one for the top.
        let is_clean = before.subvolumes.as_ref() == Some(&pool.subvolumes)
            && pool.quota_groups == pool.subvolumes.len() + 1;
        (!is_clean).then(|| format!("the pool has {pool:?} instead of {:?}", before.subvolumes))
    };
    // The kernel drops subvolumes in its own time, half a minute or so, and the server removes their quota groups when it next
    // empties the trash. Both are asked to do it now.
    if pool_is_wrong(&keeper.place).is_some() {
        keeper.place.hurry_pool();
        keeper.end()?;
        keeper.start()?;
        // What a start tries and removes, too.
        keeper.place.hurry_pool();
    }
    keeper.within("after the last end", pool_is_wrong);
    keeper.end()?;
    keeper.within("in the end", |_| {
        let left = host::descendants();
        left.first().map(|one| format!("{} processes, as {one}", left.len()))
    });
    keeper.within("in the end", |place| place.held().first().cloned());
    keeper.within("in the end", |place| {
        let files = place.files();
        let more: Vec<_> = files.difference(&before.files).take(5).collect();
        let less: Vec<_> = before.files.difference(&files).take(5).collect();
        (files != before.files).then(|| format!("new files: {more:?}, missing: {less:?}"))
    });
    keeper.within("in the end", |_| {
        let now = host::namespace_mounts();
        (now > before.namespace_mounts).then(|| format!("{now} namespaces are mounted"))
    });
    Ok(())
}

fn nothing(what: &str, left: &BTreeSet<String>) -> Option<String> {
    (!left.is_empty()).then(|| format!("{what}: {left:?}, after {} s", PATIENCE.as_secs()))
}
