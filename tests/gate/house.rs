//! The real `lamp up` with a hostile agent, and a small repository with a bug that is really there.

use std::{
    fs::Permissions,
    future::Future,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tests::internet::program;
use wire::client::{Client, Endpoint};

/// What the agent does is in its request.
pub(crate) const HOSTILE: &str = include_str!("hostile.py");

/// One that speaks ACP.
const WORKER: &str = include_str!("worker.py");

/// How long anything may take, on a machine that does ten other things.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// What a server is started with.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) server: String,
    pub(crate) policy: String,
    pub(crate) agent: String,
}

impl Default for Files {
    /// Nothing is reached before the gate; behind it two hosts, at which nobody answers.
    fn default() -> Self {
        let server = "version: 1\nsandboxes: { warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB, toolchains: [] }\n";
        let hosts = "['allowed.example', 'other.example']";
        let command = "exec /usr/bin/python3 $LAMP_WORKSPACE/sums/hostile.py";
        Self {
            server: server.to_owned(),
            policy: format!("version: 1\negress:\n  implement: {{ allow: {hosts} }}\n"),
            agent: format!(
                "lamp: {{ version: 1, name: hostile }}\nagent: {{ driver: command, command: \"{command}\" }}\n\
                 sandbox: {{ repositories: [{{ name: sums }}] }}\negress: {{ implement: {hosts} }}\n"
            ),
        }
    }
}

/// A server. It ends with all that it made when this is dropped.
pub(crate) struct House {
    directory: TempDir,
    server: Option<Child>,
    runtime: tokio::runtime::Runtime,
    pub(crate) client: Client,
    /// The address of the API on the loopback, as `127.0.0.1:1234`.
    pub(crate) address: String,
}

impl House {
    pub(crate) fn start() -> Self {
        Self::of(&Files::default())
    }

    /// `gate` is said about the gate in the agent's file.
    pub(crate) fn with(gate: &str) -> Self {
        let mut files = Files::default();
        files.agent.push_str(gate);
        Self::of(&files)
    }

    pub(crate) fn of(files: &Files) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("gate")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("agents")).unwrap();
        for (name, text) in [
            ("lamp.yaml", &files.server),
            ("policy.yaml", &files.policy),
            ("agents/hostile.yaml", &files.agent),
        ] {
            std::fs::write(at(name), text).unwrap();
        }
        repository(&at("sums"));
        let mut command = Command::new(program());
        command.args(["up", "--temporary", "--listen", "127.0.0.1:0"]);
        command.arg("--data").arg(at("data")).arg("--run").arg(at("run"));
        command.arg("--config").arg(at("lamp.yaml"));
        let log = std::fs::File::create(at("server.log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut server = command.spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("Ctrl-C ends it") {
            let read = lines.read_line(&mut said).unwrap();
            assert_ne!(read, 0, "the server does not start: {said}");
        }
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let address = said.split("http://").nth(1).and_then(|it| it.split(',').next());
        let address = address.expect("it says where it listens").to_owned();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let client = Client::new(Endpoint::Unix(at("run/lamp.sock")));
        Self { directory, server: Some(server), runtime, client, address }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What comes of it, which must not take for ever.
    pub(crate) fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, what).await.expect("it takes too long")
        })
    }

    /// The repository on this host, as git shows it.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        git(&self.path("sums"), words)
    }

    /// All names of the repository and what they stand for.
    pub(crate) fn refs(&self) -> String {
        self.git(&["for-each-ref", "--format=%(refname) %(objectname)"])
    }

    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.path("data/token")).unwrap().trim().to_owned()
    }

    /// What `lamp` says with these words, in a pipe.
    pub(crate) fn lamp(&self, words: &[&str]) -> String {
        let said = self.command(words).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    }

    /// What it sends to a terminal. `script` is one.
    pub(crate) fn on_terminal(&self, words: &[&str]) -> String {
        let line = format!("{} {}", program().display(), words.join(" "));
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env("LAMP_SERVER", self.path("run/lamp.sock")).env("TERM", "xterm");
        let said = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(words).env("LAMP_SERVER", self.path("run/lamp.sock")).stdin(Stdio::null());
        command
    }

    /// The rows of the audit log with this action.
    pub(crate) fn audited(&self, action: &str) -> Vec<Value> {
        let data = self.path("data");
        let export = Command::new(program()).args(["audit", "export", "--data"]).arg(data).output();
        let export = export.unwrap();
        assert!(export.status.success(), "{export:?}");
        let text = String::from_utf8(export.stdout).unwrap();
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.filter(|row| row["action"] == action).collect()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _gone = kill_process(Pid::from_child(&server), Signal::TERM);
            let _status = server.wait();
        }
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.path("server.log")).unwrap_or_default();
            println!("the server's log:\n{log}");
        }
    }
}

/// Runs git as if nobody had ever set it up.
pub(crate) fn git(directory: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(directory).args(words).stdin(Stdio::null());
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")]);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ann");
        command.env(format!("GIT_{who}_EMAIL"), "ann@example.com");
        command.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
    }
    let said = command.output().unwrap();
    assert!(said.status.success(), "git {words:?}: {said:?}");
    String::from_utf8(said.stdout).unwrap()
}

fn repository(directory: &Path) {
    std::fs::create_dir(directory).unwrap();
    let test = "import unittest\n\nfrom calc import add\n\n\nclass Sums(unittest.TestCase):\n    def test_add(self):\n        \
                self.assertEqual(add(1, 2), 3)\n\n    def test_nothing(self):\n        self.assertEqual(add(0, 0), 0)\n";
    let files = [
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        ("test_calc.py", test),
        ("Makefile", "test:\n\tpython3 -m unittest -v\n"),
        ("hostile.py", HOSTILE),
        ("worker.py", WORKER),
    ];
    for (name, text) in files {
        std::fs::write(directory.join(name), text).unwrap();
    }
    git(directory, &["init", "--quiet", "--initial-branch", "main"]);
    git(directory, &["add", "."]);
    git(directory, &["commit", "--quiet", "--message", "Sums"]);
}
