//! One engine on a scripted world, with people who decide, until it is killed.
//!
//! `--die-at N` makes it kill itself with SIGKILL at the N-th thing that its witness sees: a step
//! claimed, done outside but not written, written, put back. So a test can end it between any two.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use clap::Parser;
use domain::queue::Places;
use engine::{Engine, Moment, Settings, Unwatched, Witness};
use store::DataDirectory;
use testkit::{clock::AnyClock, ledger::Ledger, people, world::World};
use tokio_util::sync::CancellationToken;

/// An engine for tests that kill it.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(long)]
    database: String,
    #[arg(long)]
    directory: PathBuf,
    #[arg(long)]
    name: String,
    #[arg(long)]
    die_at: Option<u32>,
    #[arg(long, default_value_t = 16)]
    places: usize,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let place = DataDirectory::new(arguments.directory.join("data"));
    let store = Arc::new(store::open(&arguments.database, &place).await?);
    let ledger = Ledger::open(arguments.directory.join("outside"))?;
    let world = Arc::new(World::new(ledger, AnyClock::System));
    let places = arguments.places;
    let settings = Settings {
        places: Places { total: places, per_repository: places, per_person: places },
        parallel: 2 * places,
        witness: match arguments.die_at {
            Some(last) => Arc::new(Doomed { seen: AtomicU32::new(0), last }),
            None => Arc::new(Unwatched),
        },
        ..World::settings(&arguments.name)
    };
    let engine = Engine::new(store, world, settings);
    let stop = CancellationToken::new();
    tokio::join!(
        engine.run(stop.clone()),
        people::decide_until(&engine, &AnyClock::System, stop.clone()),
    );
    Ok(())
}

#[derive(Debug)]
struct Doomed {
    seen: AtomicU32,
    last: u32,
}

impl Witness for Doomed {
    fn sees(&self, _moment: Moment) {
        if self.seen.fetch_add(1, Ordering::SeqCst) + 1 == self.last {
            let me = rustix::process::getpid();
            // It cannot fail: everyone may kill themselves.
            let _killed = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        }
    }
}
