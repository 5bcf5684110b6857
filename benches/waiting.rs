//! What tasks cost that wait for a person: they are rows, so a process hardly notices them.
//!
//! The engine runs in a process of its own (this program again, with [`CHILD`]), so that what the
//! preparation left in memory is not counted.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use contracts::clock::{Clock as _, SystemClock};
use domain::id::PersonId;
use engine::{Engine, Settings};
use fs_err as fs;
use store::{DataDirectory, Store};
use testkit::{clock::AnyClock, ledger::Ledger, world::World};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    Bench,
    lives::{Asker, Life, until_approval},
    report::Figure,
};

/// The argument that makes this program the engine whose memory is measured; a directory follows.
pub const CHILD: &str = "--engine-in";
const TASKS: usize = 10_000;
const MAKERS: usize = 128;
/// How long the engine runs before it is measured.
const SETTLE: Duration = Duration::from_secs(2);
/// How long its processor time is watched.
const WATCH: Duration = Duration::from_secs(4);

pub async fn run(bench: &mut Bench) -> anyhow::Result<()> {
    bench.report.section("An engine process with 10,000 tasks that wait for approval, SQLite")?;
    let empty = bench.sqlite().await?;
    empty.store.close().await;
    let without = watch_child(empty.place.directory())?;
    let full = bench.sqlite().await?;
    make(&full.store).await?;
    full.store.close().await;
    let with = watch_child(full.place.directory())?;
    let grown = with.resident_kib - without.resident_kib;
    let figure = Figure::new("memory that they take", grown / 1024.0, "MiB").note(format_args!(
        "{:.1} → {:.1} MiB, {:.0} bytes per task",
        without.resident_kib / 1024.0,
        with.resident_kib / 1024.0,
        grown * 1024.0 / 10_000.0
    ));
    bench.report.add(figure)?;
    let figure = Figure::new("processor while nothing happens", with.percent, "% of one")
        .note(format_args!("{:.2} % without them", without.percent));
    bench.report.add(figure)?;
    Ok(())
}

/// Tasks whose plan waits, everyone told, sandboxes at rest: only their timers are left to do.
async fn make(store: &Arc<Store>) -> anyhow::Result<()> {
    let mut making = JoinSet::new();
    for maker in 0..MAKERS {
        let store = Arc::clone(store);
        making.spawn(async move {
            for number in (maker..TASKS).step_by(MAKERS) {
                let asker = Asker {
                    person: PersonId::from_u128(100 + (number % 25) as u128),
                    repository: format!("acme/service-{}", number % 40),
                };
                Life::new().append(&store, until_approval(&asker)?).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(joined) = making.join_next().await {
        joined??;
    }
    loop {
        let now = SystemClock.now();
        let leases = store.claim("bench", now, now + Duration::from_mins(1), 1_000).await?;
        if leases.is_empty() {
            return Ok(());
        }
        let mut finishing = JoinSet::new();
        for lease in leases {
            let store = Arc::clone(store);
            finishing.spawn(async move { store.finish(lease).await });
        }
        while let Some(joined) = finishing.join_next().await {
            joined??;
        }
    }
}

struct Watched {
    resident_kib: f64,
    percent: f64,
}

/// Starts an engine on `directory` in a process of its own, and reads what it says of itself.
fn watch_child(directory: &Path) -> anyhow::Result<Watched> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let output = Command::new(program).arg(CHILD).arg(directory).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the engine's process failed: {error}");
    let mut numbers = said.split_whitespace().map(str::parse::<f64>);
    let mut number = || numbers.next().context("the engine's process said too little");
    Ok(Watched { resident_kib: number()??, percent: number()?? })
}

/// The engine's process: runs for a while, and returns what is to be printed.
pub async fn engine_in(directory: PathBuf) -> anyhow::Result<String> {
    let place = DataDirectory::new(&directory);
    let store = Arc::new(store::open(&place.sqlite_url(), &place).await?);
    let world = World::new(Ledger::open(directory.join("outside"))?, AnyClock::System);
    // As a server runs: the scripted world's own settings look far more often.
    let settings = Settings::default();
    let engine = Engine::new(store, Arc::new(world), settings);
    let stop = CancellationToken::new();
    let watching = async {
        SystemClock.sleep_until(SystemClock.now() + SETTLE).await;
        let before = processor_time();
        SystemClock.sleep_until(SystemClock.now() + WATCH).await;
        let used = processor_time().saturating_sub(before);
        let resident = resident_kib();
        stop.cancel();
        (resident, used)
    };
    let ((), (resident, used)) = tokio::join!(engine.run(stop.clone()), watching);
    let percent = used.as_secs_f64() / WATCH.as_secs_f64() * 100.0;
    Ok(format!("{} {percent}", resident?))
}

fn resident_kib() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.context("the kernel does not say how much memory is used")?.parse()?)
}

/// What this process has used of the processors so far.
fn processor_time() -> Duration {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(clock.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(clock.tv_nsec.unsigned_abs())
}
