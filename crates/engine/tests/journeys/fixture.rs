//! A small fixture on which the tests of this room play: a store, a scripted world, and an engine.

use std::{path::PathBuf, sync::Arc, time::Duration};

use contracts::clock::Clock as _;
use domain::{
    approval::Conditions,
    id::TaskId,
    limits::Limits,
    plan::PlanHash,
    task::{Ask, ForgeNews, Resting, Stage, Standing, Task},
};
use engine::{Engine, Settings};
use store::{DataDirectory, OpenOptions, Store};
use tempfile::TempDir;
use testkit::{ann, bob, clock::AnyClock, ledger::Ledger, people, world::World};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) struct Fixture {
    pub(crate) engine: Engine<World>,
    pub(crate) ledger: Ledger,
    directory: TempDir,
}

/// An engine that is running; let it stop with [`Running::stop`].
pub(crate) struct Running {
    pub(crate) stop: CancellationToken,
    pub(crate) engine: JoinHandle<()>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(AnyClock::System, World::settings("engine")).await
    }

    pub(crate) async fn with(clock: AnyClock, settings: Settings) -> Self {
        Self::on(None, OpenOptions::DEFAULT, clock, settings).await
    }

    /// The same on the database at `url`, or on SQLite.
    pub(crate) async fn on(
        url: Option<String>,
        options: OpenOptions,
        clock: AnyClock,
        settings: Settings,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = DataDirectory::new(directory.path().join("data"));
        let url = url.unwrap_or_else(|| place.sqlite_url());
        let store = Arc::new(store::open_with(&url, &place, options).await.unwrap());
        let ledger = Ledger::open(directory.path().join("outside")).unwrap();
        let world = Arc::new(World::new(ledger.clone(), clock));
        Self { engine: Engine::new(store, world, settings), ledger, directory }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        self.engine.store()
    }

    /// The same database of SQLite, opened once more.
    pub(crate) async fn another_store(&self) -> Arc<Store> {
        let place = DataDirectory::new(self.directory.path().join("data"));
        let opened = store::open_with(&place.sqlite_url(), &place, OpenOptions::DEFAULT).await;
        Arc::new(opened.unwrap())
    }

    pub(crate) async fn submit(&self, text: &str) -> TaskId {
        let trigger = testkit::trigger("acme/web", text).unwrap();
        self.engine.submit(trigger, Limits::default()).await.unwrap()
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

/// Small things that tests do.
impl Fixture {
    pub(crate) async fn task(&self, task: TaskId) -> Task {
        self.store().history(task).await.unwrap().task().unwrap()
    }

    /// What people were told about `task`, in order.
    pub(crate) fn news(&self, task: TaskId) -> String {
        let told = self.ledger.names("told").unwrap();
        let mut of_task: Vec<(u64, String)> = told
            .iter()
            .filter(|name| name.starts_with(&task.to_string()))
            .map(|name| {
                let seq = name.split('|').nth(1).unwrap().parse().unwrap();
                (seq, self.ledger.read("told", name).unwrap())
            })
            .collect();
        of_task.sort();
        of_task.into_iter().map(|(_, news)| news).collect::<Vec<_>>().join("\n")
    }

    /// Waits until the outside was asked for something that begins like this.
    pub(crate) async fn wait_for_call(&self, beginning: &str) {
        self.wait_for_calls(beginning, 1).await;
    }

    pub(crate) async fn wait_for_calls(&self, beginning: &str, count: usize) {
        for _ in 0..1_500 {
            let calls = self.ledger.calls().unwrap();
            if calls.iter().filter(|call| call.starts_with(beginning)).count() >= count {
                return;
            }
            self.settle().await;
        }
        panic!("nobody called {beginning}");
    }

    /// Lets the engine do what it can do now.
    pub(crate) async fn settle(&self) {
        let soon = AnyClock::System.now() + Duration::from_millis(10);
        AnyClock::System.sleep_until(soon).await;
    }

    pub(crate) async fn approve(&self, task: TaskId) {
        let Stage::AwaitingApproval { plan } = self.task(task).await.stage else {
            panic!("there is no plan")
        };
        self.approve_plan(task, plan).await;
    }

    pub(crate) async fn approve_paused(&self, task: TaskId) {
        let Stage::Paused { at: Resting::Gate { plan }, .. } = self.task(task).await.stage else {
            panic!("there is no plan")
        };
        self.approve_plan(task, plan).await;
    }

    async fn approve_plan(&self, task: TaskId, plan: PlanHash) {
        let approve = Ask::Approve { plan, conditions: Conditions::default() };
        self.engine.ask(task, bob(), approve).await.unwrap();
    }

    pub(crate) async fn answer(&self, task: TaskId) {
        let Stage::AwaitingAnswer { question, .. } = self.task(task).await.stage else {
            panic!("there is no question")
        };
        let answer = Ask::Answer { question, text: "the first one".to_owned() };
        self.engine.ask(task, ann(), answer).await.unwrap();
    }

    pub(crate) async fn merge(&self, task: TaskId) {
        self.engine.forge_says(task, ForgeNews::Merged).await.unwrap();
    }

    /// Every file that holds a blob.
    pub(crate) fn blob_files(&self) -> Vec<PathBuf> {
        let blobs = self.directory.path().join("data").join(DataDirectory::BLOBS);
        let directories = std::fs::read_dir(blobs).unwrap().map(|entry| entry.unwrap().path());
        directories
            .filter(|path| path.is_dir())
            .flat_map(|directory| std::fs::read_dir(directory).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect()
    }
}

pub(crate) fn is_over(task: &Task) -> bool {
    task.stage.standing() == Standing::Over
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.engine.await.unwrap();
    }
}
