//! A server for a crowd: the real door, engine and store, with scripted hands, and colleagues who say yes to everything.
//!
//! It is this program again, with [`CHILD`], so that its memory is its own. It says when it serves, ends when its input does, and then
//! says whether anything was lost, doubled or orphaned.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use contracts::clock::{Clock as _, SystemClock};
use domain::{id::TaskId, queue::Places};
use engine::{Engine, Settings};
use gateway::{Closing, Patience, TaskDoor};
use store::{DataDirectory, Filter, Page, Store};
use testkit::{
    bob,
    clock::AnyClock,
    ids::SystemIds,
    inspect::{Verdict, inspect},
    ledger::Ledger,
    people,
    world::World,
};
use tokio::{io::AsyncReadExt as _, net::UnixListener, net::unix::pipe::Receiver};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{report::Report, sandbox::ground::rest};

/// The argument that makes this program the server; what [`Plan::arguments`] gives follows.
pub const CHILD: &str = "--crowded-server";

/// What it says when it serves.
pub const READY: &str = "serves";

/// The socket, in the server's directory.
pub const SOCKET: &str = "lamp.sock";

/// How long what is left to do may take, when everybody is done.
const LAST_STEPS: Duration = Duration::from_secs(20);

/// Where such a server is, and how many may work at once.
#[derive(Debug, Clone)]
pub struct Plan {
    pub directory: PathBuf,
    /// What the scripted outside did.
    pub outside: PathBuf,
    /// As a URL.
    pub database: String,
    pub running: usize,
}

impl Plan {
    pub fn arguments(&self) -> [std::ffi::OsString; 4] {
        let Self { directory, outside, database, running } = self;
        [directory.into(), outside.into(), database.into(), running.to_string().into()]
    }

    pub fn read(arguments: &mut impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut next = || arguments.next().context("the server's plan has four parts");
        Ok(Self {
            directory: next()?.into(),
            outside: next()?.into(),
            database: next()?,
            running: next()?.parse()?,
        })
    }

    const fn places(&self) -> Places {
        Places { total: self.running, per_repository: self.running, per_person: self.running }
    }
}

/// The server's process: serves until its input ends, and returns what is to be printed.
pub async fn serve(plan: Plan) -> anyhow::Result<Verdict> {
    let place = DataDirectory::new(plan.directory.join("data"));
    let store = Arc::new(store::open(&plan.database, &place).await?);
    let ledger = Ledger::open(&plan.outside)?;
    let world = Arc::new(World::new(ledger.clone(), AnyClock::System));
    let settings = Settings {
        places: plan.places(),
        parallel: 2 * plan.running,
        lease: Duration::from_secs(30),
        look_every: Duration::from_secs(1),
        ..World::settings("bench")
    };
    let engine = Engine::new(Arc::clone(&store), world, settings);
    let (stop, callers) = (CancellationToken::new(), TaskTracker::new());
    let door = TaskDoor {
        front: Arc::new(engine.clone()),
        ids: Arc::new(SystemIds),
        person: bob(),
        owner: "bob".to_owned(),
        closing: Closing { stop: stop.clone(), talks: callers.clone() },
    };
    let socket = UnixListener::bind(plan.directory.join(SOCKET))?;
    let owner = rustix::process::geteuid().as_raw();
    let router = gateway::tasks_router(door);
    let serving = gateway::serve_unix(socket, owner, router, Patience::default(), stop.clone());
    Report::default().say(READY)?;
    let ending = async {
        let ended = until_input_ends().await;
        let settled = until_nothing_is_due(&store).await;
        stop.cancel();
        ended.and(settled)
    };
    let deciding = people::decide_until(&engine, &AnyClock::System, stop.clone());
    let ((), (), (), ended) = tokio::join!(engine.run(stop.clone()), deciding, serving, ending);
    ended?;
    callers.close();
    callers.wait().await;
    let verdict = inspect(&store, &ledger, &all(&store).await?).await?;
    store.close().await;
    ensure!(verdict.is_clean(), "{verdict}");
    Ok(verdict)
}

async fn until_input_ends() -> anyhow::Result<()> {
    let input = rustix::io::dup(rustix::stdio::stdin())?;
    let (mut input, mut ignored) = (Receiver::from_owned_fd(input)?, [0; 64]);
    while input.read(&mut ignored).await? > 0 {}
    Ok(())
}

async fn until_nothing_is_due(store: &Store) -> anyhow::Result<()> {
    let end = SystemClock.now() + LAST_STEPS;
    while store.next_due().await?.is_some() {
        ensure!(SystemClock.now() < end, "there is still something to do");
        rest(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// All tasks that there are.
async fn all(store: &Store) -> anyhow::Result<Vec<TaskId>> {
    let mut all: Vec<TaskId> = Vec::new();
    loop {
        let page = Page { before: all.last().copied(), size: Page::LONGEST };
        let more = store.tasks(&Filter::default(), page).await?;
        if more.is_empty() {
            return Ok(all);
        }
        all.extend(more.iter().map(|view| view.task));
    }
}
