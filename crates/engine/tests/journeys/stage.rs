//! A small stage on which the tests of this room play: a store, a scripted world, and an engine.

use std::{sync::Arc, time::Duration};

use contracts::clock::Clock as _;
use domain::{
    id::TaskId,
    limits::Limits,
    task::{Standing, Task},
};
use engine::{Engine, Settings};
use store::{Place, Store};
use tempfile::TempDir;
use testkit::{clock::AnyClock, ledger::Ledger, people, world::World};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) struct Stage {
    pub(crate) engine: Engine<World>,
    pub(crate) ledger: Ledger,
    _directory: TempDir,
}

/// An engine that is running; let it stop with [`Running::stop`].
pub(crate) struct Running {
    stop: CancellationToken,
    engine: JoinHandle<()>,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(AnyClock::System, World::settings("engine")).await
    }

    pub(crate) async fn with(clock: AnyClock, settings: Settings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::new(directory.path().join("data"));
        let store = Arc::new(store::open(&place.sqlite_url(), &place).await.unwrap());
        let ledger = Ledger::open(directory.path().join("outside")).unwrap();
        let world = Arc::new(World::new(ledger.clone(), clock));
        Self { engine: Engine::new(store, world, settings), ledger, _directory: directory }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        self.engine.store()
    }

    pub(crate) async fn submit(&self, text: &str) -> TaskId {
        let request = testkit::request("acme/web", text).unwrap();
        self.engine.submit(request, Limits::default()).await.unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "`Running::stop` waits for it")]
    pub(crate) fn run(&self) -> Running {
        let stop = CancellationToken::new();
        let (engine, token) = (self.engine.clone(), stop.clone());
        Running { stop, engine: tokio::spawn(async move { engine.run(token).await }) }
    }

    /// Runs the engine, and people who decide, until `task` stands where `enough` says.
    pub(crate) async fn play_until(&self, task: TaskId, enough: impl Fn(&Task) -> bool) -> Task {
        let running = self.run();
        let stop = CancellationToken::new();
        let deciding = people::decide_until(&self.engine, &AnyClock::System, stop.clone());
        let waiting = async {
            let reached = self.wait_until(task, enough).await;
            stop.cancel();
            reached
        };
        let ((), reached) = tokio::join!(deciding, waiting);
        running.stop().await;
        reached
    }

    /// Waits until `task` stands where `enough` says; fails after a while.
    pub(crate) async fn wait_until(&self, task: TaskId, enough: impl Fn(&Task) -> bool) -> Task {
        let mut last = None;
        for _ in 0..1_500 {
            let found = self.store().history(task).await.unwrap().task().unwrap();
            let settled = found.stage.standing() != Standing::Over
                || self.store().pending(task).await.unwrap().is_empty();
            if enough(&found) && settled {
                return found;
            }
            last = Some(found);
            let soon = AnyClock::System.now() + Duration::from_millis(10);
            AnyClock::System.sleep_until(soon).await;
        }
        panic!("the task never came there; it is {:?}", last.map(|task| task.stage));
    }

    /// The kinds of the events of `task`, in order, one per line.
    pub(crate) async fn told(&self, task: TaskId) -> String {
        let history = self.store().history(task).await.unwrap();
        let kinds: Vec<&str> = history.events.iter().map(|it| it.event.kind()).collect();
        kinds.join("\n")
    }
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.engine.await.unwrap();
    }
}
