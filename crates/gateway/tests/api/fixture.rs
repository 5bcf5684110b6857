//! A server on a socket and on the loopback, until it is dropped.

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf, sync::Arc};

use engine::Engine;
use gateway::{Closing, Door, Patience, TaskDoor, Token};
use store::DataDirectory;
use tempfile::TempDir;
use testkit::{
    clock::AnyClock,
    ids::SystemIds,
    ledger::Ledger,
    world::{ScriptedSandboxes, World},
};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use wire::client::{Client, Endpoint};

use crate::without::Without;

/// Short, so that a test sees it pass.
const PATIENCE: Patience = Patience {
    head: std::time::Duration::from_millis(300),
    rate: gateway::Rate { at_once: 10_000, each_second: 10_000 },
};

pub(crate) const SECRET: &str = "a-secret-of-the-test";

pub(crate) struct Fixture {
    directory: TempDir,
    pub(crate) port: u16,
    stop: CancellationToken,
    _servers: TaskTracker,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (stop, servers) = (CancellationToken::new(), TaskTracker::new());
        let ledger = Ledger::open(directory.path().join("ledger")).unwrap();
        let place = DataDirectory::new(directory.path().join("data"));
        let store = Arc::new(store::open(&place.sqlite_url(), &place).await.unwrap());
        let world = Arc::new(World::new(ledger.clone(), AnyClock::System));
        let tasks = TaskDoor {
            front: Arc::new(Engine::new(store, world, World::settings("engine"))),
            ids: Arc::new(SystemIds),
            person: testkit::ann(),
            owner: "ann".to_owned(),
            closing: Closing { stop: stop.clone(), talks: servers.clone() },
        };
        let door = Door {
            sandboxes: Arc::new(ScriptedSandboxes::new(ledger)),
            sources: Arc::new(Without),
            networks: Arc::new(Without),
            values: Arc::new(crate::values::OneValue),
            agents: Arc::new(Without),
            ids: Arc::new(SystemIds),
            owner: "ann".to_owned(),
            version: "1.2.3".to_owned(),
            closing: Closing { stop: stop.clone(), talks: servers.clone() },
        };
        let shelf = Arc::new(crate::secrets::ScriptedShelf::default());
        let router = gateway::router(door).merge(gateway::secrets_router(shelf));
        let router = router.merge(gateway::tasks_router(tasks));
        let router = gateway::without_values(router, Arc::new(crate::values::OneValue));
        let unix = UnixListener::bind(directory.path().join("lamp.sock")).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let owner = rustix::process::geteuid().as_raw();
        servers.spawn(gateway::serve_unix(unix, owner, router.clone(), PATIENCE, stop.clone()));
        let token = Token::new(SECRET);
        servers.spawn(gateway::serve_loopback(tcp, token, router, PATIENCE, stop.clone()));
        Self { directory, port, stop, _servers: servers }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("lamp.sock")
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(Endpoint::Unix(self.socket()))
    }

    pub(crate) fn loopback(&self, token: Option<&str>) -> Client {
        let token = token.map(str::to_owned);
        Client::new(Endpoint::Http { authority: format!("127.0.0.1:{}", self.port), token })
    }

    /// Lets everybody of this computer try.
    pub(crate) fn open_to_all(&self) {
        for path in [self.directory.path().to_owned(), self.socket()] {
            fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
