//! A server with tasks: a real store, a real engine, and a scripted world behind it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use contracts::{clock::Clock as _, forge::PullRequests};
use domain::{people::Person, task::ForgeNews};
use engine::{Engine, Front};
use gateway::{Closing, Patience, TaskDoor};
use store::{DataDirectory, OpenOptions, Store};
use tempfile::TempDir;
use testkit::{bob, clock::AnyClock, ids::SystemIds, ledger::Ledger, world::World};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use wire::{
    client::{Client, Endpoint},
    error::Code,
    task::{
        new::{Access, NewRepository, NewTask},
        shown,
    },
};

/// Short where a test sees it pass.
pub(crate) const PATIENCE: Patience = Patience {
    head: Duration::from_secs(5),
    rate: gateway::Rate { at_once: 10_000, each_second: 10_000 },
};

pub(crate) struct TaskFixture {
    pub(crate) engine: Engine<World>,
    directory: Arc<TempDir>,
    stop: CancellationToken,
    running: TaskTracker,
}

impl TaskFixture {
    pub(crate) async fn new() -> Self {
        Self::of(bob(), PATIENCE).await
    }

    /// Whose server it is, and how patient it is.
    pub(crate) async fn of(person: Person, patience: Patience) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        Self::at(directory, person, patience, |engine, _world| Arc::new(engine)).await
    }

    /// With pull requests that are kept elsewhere.
    pub(crate) async fn with_pulls(pulls: Arc<impl PullRequests>) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let front = |engine: Engine<World>, world: World| {
            let (store, world) = (Arc::clone(engine.store()), Arc::new(world.with_pulls(pulls)));
            Arc::new(Engine::new(store, world, World::settings("engine"))) as Arc<dyn Front>
        };
        Self::at(directory, bob(), PATIENCE, front).await
    }

    /// The same data, another start.
    pub(crate) async fn restarted(self) -> Self {
        self.stop.cancel();
        self.engine.store().close().await;
        let directory = Arc::clone(&self.directory);
        fs_err::remove_file(directory.path().join("lamp.sock")).unwrap();
        Self::at(directory, bob(), PATIENCE, |engine, _world| Arc::new(engine)).await
    }

    async fn at(
        directory: Arc<TempDir>,
        person: Person,
        patience: Patience,
        front: impl FnOnce(Engine<World>, World) -> Arc<dyn Front>,
    ) -> Self {
        let (stop, running) = (CancellationToken::new(), TaskTracker::new());
        let place = DataDirectory::new(directory.path().join("data"));
        let options = OpenOptions::DEFAULT;
        let store = store::open_with(&place.sqlite_url(), &place, options).await.unwrap();
        let ledger = Ledger::open(directory.path().join("outside")).unwrap();
        let world = World::new(ledger, AnyClock::System);
        let hands = Arc::new(world.clone());
        let engine = Engine::new(Arc::new(store), hands, World::settings("engine"));
        let door = TaskDoor {
            front: front(engine.clone(), world),
            ids: Arc::new(SystemIds),
            person,
            owner: "bob".to_owned(),
            closing: Closing { stop: stop.clone(), talks: running.clone() },
        };
        let router = gateway::tasks_router(door);
        let unix = UnixListener::bind(directory.path().join("lamp.sock")).unwrap();
        let owner = rustix::process::geteuid().as_raw();
        running.spawn(gateway::serve_unix(unix, owner, router, patience, stop.clone()));
        Self { engine, directory, stop, running }
    }

    /// Lets the engine work until the fixture is dropped.
    pub(crate) fn run(&self) {
        let (engine, stop) = (self.engine.clone(), self.stop.clone());
        self.running.spawn(async move { engine.run(stop).await });
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        self.engine.store()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("lamp.sock")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(Endpoint::Unix(self.socket()))
    }

    /// Hands over a task, without waiting for anything.
    pub(crate) async fn begin(&self, text: &str) -> shown::Task {
        let key = uuid_like();
        self.client().begin_task(&wish(text), &key).await.unwrap().remove(0)
    }

    /// Waits until a task stands so.
    pub(crate) async fn wait(&self, task: &str, state: &str) -> shown::Task {
        let mut last = String::new();
        for _ in 0..1_500 {
            let found = self.client().task(task).await.unwrap();
            if found.state == state {
                return found;
            }
            last = found.state;
            soon().await;
        }
        panic!("the task never came there; it is {last}");
    }

    /// Waits until a task is over, with all that is to be done about it.
    pub(crate) async fn settled(&self, task: &str) {
        let id = task.parse().unwrap();
        for _ in 0..1_500 {
            if self.store().pending(id).await.unwrap().is_empty() {
                return;
            }
            soon().await;
        }
        panic!("something is still to be done");
    }

    pub(crate) async fn merge(&self, task: &str) {
        self.engine.forge_says(task.parse().unwrap(), ForgeNews::Merged).await.unwrap();
    }

    /// Plays a task to its end.
    pub(crate) async fn played(&self, text: &str) -> String {
        let task = self.begin(text).await.id;
        let waiting = self.wait(&task, "awaiting approval").await;
        let approve = wire::task::ask::Approve {
            plan: waiting.plan_waiting.unwrap(),
            ..wire::task::ask::Approve::default()
        };
        self.client().approve(&task, &approve).await.unwrap();
        self.wait(&task, "pull request open").await;
        self.merge(&task).await;
        self.settled(&task).await;
        task
    }

    /// An answer as it is, word by word.
    pub(crate) async fn raw(&self, request: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for TaskFixture {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) async fn soon() {
    AnyClock::System.sleep_until(AnyClock::System.now() + Duration::from_millis(10)).await;
}

pub(crate) fn wish(text: &str) -> NewTask {
    NewTask { text: text.to_owned(), repositories: vec![web()], ..NewTask::default() }
}

pub(crate) fn web() -> NewRepository {
    NewRepository {
        name: "acme/web".to_owned(),
        url: "file:///web".to_owned(),
        revision: None,
        access: Some(Access::Write),
    }
}

/// A key as the typed client's users make one.
pub(crate) fn uuid_like() -> String {
    use contracts::ids::IdSource as _;
    let digits = format!("{:032x}", SystemIds.next());
    let part = |from: usize, to: usize| digits[from..to].to_owned();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

pub(crate) fn code<T: std::fmt::Debug>(answer: Result<T, wire::client::ClientError>) -> Code {
    answer.unwrap_err().problem().unwrap().code
}
