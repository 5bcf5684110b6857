//! One server in a directory of its own: `lamp up` with its files and its database, a scripted model, and what has to be gone in the end.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use testkit::{
    model::{Model, serve},
    postgres::Postgres,
};
use tests::internet::{Internet, breathe, program};
use wire::client::{Client, Endpoint};

use crate::{actor, blocked, host};

/// How long anything may take on a slow and busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Where tasks are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    Sqlite,
    Postgres,
}

pub(crate) struct House {
    directory: TempDir,
    pub(crate) model: Model,
    pub(crate) client: Client,
    server: Mutex<Option<Child>>,
    /// Where the server stands, if scenes need hosts to reach. Ends after the server, which is why it stands below it.
    internet: Option<Internet>,
    /// Ends after the server too.
    _postgres: Option<Postgres>,
    _alone: MutexGuard<'static, ()>,
}

/// A house looks at all that this process has started when it ends, so a process has one at a time.
static ALONE: Mutex<()> = Mutex::new(());

impl House {
    /// Builds everything, and comes back when the server is up.
    pub(crate) fn build(ground: Ground) -> Self {
        Self::build_in(ground, None)
    }

    /// The same, with the server in a toy internet.
    pub(crate) fn build_in(ground: Ground, internet: Option<Internet>) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        host::adopt_orphans().unwrap();
        let directory = tempfile::Builder::new().prefix("jour").tempdir().unwrap();
        let postgres = match ground {
            Ground::Sqlite => None,
            Ground::Postgres => Some(Postgres::start().unwrap()),
        };
        let model = Model::new();
        let port = serve_in_the_background(model.clone());
        let at = |name: &str| directory.path().join(name);
        let database =
            postgres.as_ref().map(|it| format!("database: '{}'\n", it.url())).unwrap_or_default();
        std::fs::write(at("lamp.yaml"), format!("{}{database}", server_file(port))).unwrap();
        let hosts: &[&str] = if internet.is_some() { &blocked::ALLOWED } else { &[] };
        std::fs::write(at("policy.yaml"), policy_with(hosts)).unwrap();
        std::fs::create_dir(at("agents")).unwrap();
        for (name, text) in actor::files() {
            std::fs::write(at("agents").join(format!("{name}.yaml")), text).unwrap();
        }
        std::fs::DirBuilder::new().mode(0o755).create(at("repositories")).unwrap();
        let client = Client::new(Endpoint::Unix(at("run/lamp.sock")));
        let house = Self {
            directory,
            model,
            client,
            server: Mutex::new(None),
            internet,
            _postgres: postgres,
            _alone: alone,
        };
        house.up();
        house
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.at("data")
    }

    /// Where scenes put their repositories.
    pub(crate) fn repositories(&self) -> PathBuf {
        self.at("repositories")
    }

    /// The hosts that there are. Only in a house that stands in a toy internet.
    pub(crate) fn internet(&self) -> &Internet {
        self.internet.as_ref().unwrap()
    }

    /// Writes a file beside `lamp.yaml`, and has the server read all of them again.
    pub(crate) async fn rewrite(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
        self.client.reload_policy().await.unwrap();
    }

    /// Starts the server, on what is there.
    pub(crate) fn up(&self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.at("log"));
        // It ends with this thread, so that a test that is killed leaves no server behind.
        let mut command = match &self.internet {
            Some(internet) => internet.in_house(program()),
            None => Command::new("setpriv"),
        };
        if self.internet.is_none() {
            command.args(["--pdeathsig=TERM", "--"]).arg(program());
        }
        command.args(["up", "--temporary", "--listen", "127.0.0.1:0"]);
        command.arg("--data").arg(self.data()).arg("--run").arg(self.at("run"));
        command.arg("--config").arg(self.at("lamp.yaml"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log.unwrap());
        let mut server = command.spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("Ctrl-C ends it") {
            let read = lines.read_line(&mut said).unwrap();
            assert_ne!(read, 0, "the server did not start: {said}{}", self.log());
        }
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        *self.server.lock().unwrap() = Some(server);
    }

    /// Ends the server as a power cut would. Sandboxes live on meanwhile.
    pub(crate) fn kill(&self) {
        let mut server = self.server.lock().unwrap().take().unwrap();
        kill_process(Pid::from_child(&server), Signal::KILL).unwrap();
        server.wait().unwrap();
    }

    /// The end of what the server complained about.
    pub(crate) fn log(&self) -> String {
        let log = std::fs::read_to_string(self.at("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }

    /// Ends the server, and looks at what it leaves: there has to be nothing.
    pub(crate) fn close(&self) {
        let mut place = host::Place { directory: self.directory.path().to_owned(), groups: None };
        place.learn(&host::descendants());
        let mut server = self.server.lock().unwrap().take().unwrap();
        kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
        let ended = server.wait().unwrap();
        assert!(ended.success(), "the server ended with {ended}: {}", self.log());
        let end = Instant::now() + PATIENCE;
        loop {
            host::bury(0);
            let left = left(&place);
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "left on this host: {left:#?}");
            breathe();
        }
    }

    /// Waits until something holds that nobody tells of.
    pub(crate) async fn soon(&self, what: &str, holds: impl AsyncFn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds().await {
            assert!(Instant::now() < end, "not in time: {what}");
            breathe();
        }
    }

    /// Looks until there is something.
    pub(crate) async fn found<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let found = std::cell::OnceCell::new();
        let is_there = async || look().is_some_and(|it| found.set(it).is_ok());
        self.soon(what, is_there).await;
        found.into_inner().unwrap()
    }

    /// Waits until people were told this last.
    pub(crate) async fn told_last(&self, task: &str, text: &str) {
        let what = format!("`{text}` is told of {task}");
        let last = || self.notices(task).pop().unwrap_or_default();
        self.soon(&what, async || last()["text"] == text).await;
    }

    /// Everything that people were told of a task, in order.
    pub(crate) fn notices(&self, task: &str) -> Vec<serde_json::Value> {
        let directory = self.data().join("notices").join(task);
        let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        files.retain(|path| path.extension().is_some_and(|it| it == "json"));
        files.sort();
        let read = |path: &PathBuf| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        files.iter().map(read).collect()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let server = self.server.get_mut().ok().and_then(Option::take);
        if let Some(mut server) = server {
            let _ = kill_process(Pid::from_child(&server), Signal::TERM);
            let _ = server.wait();
        }
        if std::thread::panicking() {
            eprintln!("lamp up said: {}", self.log());
        }
    }
}

/// What is still there of a server that has ended.
fn left(place: &host::Place) -> Vec<String> {
    let mut left = place.held();
    // PostgreSQL is ours too, and stays until the house goes.
    let ours = |one: &host::Process| {
        ["lamp-guest", "lamp-launcher", "lamp"].iter().any(|it| one.program.ends_with(it))
    };
    left.extend(host::descendants().iter().filter(|one| ours(one)).map(ToString::to_string));
    left
}

fn server_file(port: u16) -> String {
    format!(
        "version: 1\n\
         sandboxes: {{ warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB }}\n\
         concurrency: {{ running: 4, per_repository: 4, per_person: 4 }}\n\
         pull_requests:\n  author: {{ name: Example's agents, email: agents@example.com }}\n  \
         co_authors: [{{ name: Ann Example, email: ann@example.com }}]\n\
         models:\n  - {{ name: scripted, provider: openai, url: 'http://localhost:{port}/v1', addresses: [127.0.0.1], model: gpt-5-mini }}\n"
    )
}

/// Agents may ask the model, and these hosts while they implement; nothing else.
pub(crate) fn policy_with(hosts: &[&str]) -> String {
    let phases = ["research", "implement", "review"].map(|phase| {
        let hosts = if phase == "implement" { hosts } else { &[] };
        let all: Vec<&str> = ["'model:openai'"].iter().chain(hosts).copied().collect();
        format!("  {phase}: {{ allow: [{}] }}\n", all.join(", "))
    });
    let setup = "  setup: { allow: ['registry:npm'] }\n";
    format!("version: 1\negress:\n{setup}{}", phases.concat())
}

fn serve_in_the_background(model: Model) -> u16 {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap().port()).unwrap();
            serve(listener, model).await.unwrap();
        });
    });
    told.recv().unwrap()
}
