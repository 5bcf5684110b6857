//! The real program `lamp up`, as a person starts it, in the house of a toy internet.

use std::{
    fmt,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::{Internet, PATIENCE, place::PATH};

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The text of `policy.yaml`.
    pub policy: String,
    /// The text of `lamp.yaml`.
    pub server: String,
    /// Names and texts of files in `agents/`.
    pub agents: Vec<(String, String)>,
}

impl Plan {
    /// This policy, and a server that keeps no sandboxes warm.
    pub fn new(policy: &str) -> Self {
        Self {
            policy: policy.to_owned(),
            server:
                "version: 1\nsandboxes: { warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB }\n"
                    .to_owned(),
            agents: Vec::new(),
        }
    }
}

/// A running server. It ends with all that it made when this is dropped.
#[derive(Debug)]
pub struct House<'a> {
    internet: &'a Internet,
    directory: TempDir,
    server: Option<Child>,
    /// What it said when it was up.
    said: String,
    complaints: Receiver<String>,
}

/// What a command said, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    pub(super) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// Both streams, for looking whether something was said at all.
    pub fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ended {:?}: {}", self.code, self.all().trim())
    }
}

/// A command that runs in a sandbox meanwhile.
#[derive(Debug)]
pub struct Running(Option<Child>);

impl Running {
    pub fn is_running(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }

    /// Lets it run for as long as its sandbox does.
    pub fn forget(mut self) {
        drop(self.0.take());
    }

    /// Waits for its end, and gives what it said.
    pub fn said(mut self) -> Said {
        Said::of(&self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // As Ctrl-C does, so that what runs inside ends too.
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
            let _ = child.wait();
        }
    }
}

/// One record of the audit log about the way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Record(pub Value);

impl Record {
    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// `exchange`, `finding`, `alarm`, …
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    pub fn host(&self) -> &str {
        self.text("/host")
    }

    pub fn path(&self) -> &str {
        self.text("/path")
    }

    /// `done`, `refused` or `broken`.
    pub fn outcome(&self) -> &str {
        self.text("/outcome")
    }

    /// The code of a refusal, such as `not_allowed`.
    pub fn code(&self) -> &str {
        self.text("/refusal/code")
    }

    /// The status of a refusal.
    pub fn status(&self) -> Option<u64> {
        self.0.pointer("/refusal/status").and_then(Value::as_u64)
    }

    /// Why it was refused, or how it broke.
    pub fn reason(&self) -> &str {
        match self.outcome() {
            "broken" => self.text("/broken"),
            _ => self.text("/refusal/reason"),
        }
    }

    pub fn sandbox(&self) -> &str {
        self.text("/sandbox")
    }

    pub fn is_refusal(&self) -> bool {
        self.outcome() == "refused"
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a> House<'a> {
    /// Starts a server with this policy.
    pub fn start(internet: &'a Internet, policy: &str) -> Self {
        Self::start_with(internet, &Plan::new(policy))
    }

    pub fn start_with(internet: &'a Internet, plan: &Plan) -> Self {
        // Sockets are in it, so its name is short.
        let directory = tempfile::Builder::new().prefix("house").tempdir().unwrap();
        let (_, complaints) = channel();
        let mut house = Self { internet, directory, server: None, said: String::new(), complaints };
        house.write("policy.yaml", &plan.policy);
        house.write("lamp.yaml", &plan.server);
        house.up();
        house
    }

    fn up(&mut self) {
        let at = |name: &str| self.path().join(name);
        let mut command = self.internet.in_house(program());
        command
            .args(["up", "--temporary", "--listen", "127.0.0.1:0"])
            .arg("--data")
            .arg(at("data"))
            .arg("--run")
            .arg(at("run"))
            .arg("--config")
            .arg(at("lamp.yaml"))
            .env("HOME", self.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap());
        let errors = BufReader::new(server.stderr.take().unwrap());
        let (tell, complaints) = channel();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        self.server = Some(server);
        self.complaints = complaints;
        self.said.clear();
        while !self.said.contains("Ctrl-C ends it") {
            let length = lines.read_line(&mut self.said).unwrap();
            assert!(length > 0, "the server did not start: {:?}", self.complaints());
        }
        // What it says later must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    }

    /// Kills the server as a fault would, and starts another on the same data. Sandboxes live on meanwhile.
    pub fn kill_and_restart(&mut self) {
        self.end(Signal::KILL);
        self.up();
    }

    /// Kills the server as a fault would. Sandboxes live on.
    pub fn kill(&mut self) {
        self.end(Signal::KILL);
    }

    /// Starts a server again on the same data.
    pub fn restart(&mut self) {
        self.up();
    }

    fn end(&mut self, signal: Signal) {
        if let Some(mut server) = self.server.take() {
            let _ = kill_process(Pid::from_child(&server), signal);
            let _ = server.wait();
        }
    }

    /// Its directory: `data`, `run`, and what [`House::write`] wrote.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file beside `lamp.yaml`.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// The process of the server.
    pub fn pid(&self) -> u32 {
        self.server.as_ref().unwrap().id()
    }

    /// The process of its gateway.
    pub fn gateway(&self) -> Option<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid());
        let everyone = || std::fs::read_dir("/proc").unwrap().flatten();
        let direct = std::fs::read_to_string(path).unwrap_or_default();
        let named = everyone().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut candidates =
            direct.split_whitespace().filter_map(|it| it.parse().ok()).chain(named);
        candidates.find(|pid| {
            let read = |what| std::fs::read_to_string(format!("/proc/{pid}/{what}"));
            let words = read("cmdline").unwrap_or_default();
            let parent = read("stat").ok().and_then(|stat| {
                stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
            });
            words.starts_with("lamp-proxy") && parent == Some(self.pid())
        })
    }

    /// The tiers that it has here.
    pub fn tiers(&self) -> &str {
        self.said.lines().find(|line| line.trim_start().starts_with("tiers")).unwrap_or_default()
    }

    /// What the server said when it was up.
    pub fn greeting(&self) -> &str {
        &self.said
    }

    /// What it has complained about since this was asked last.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.try_iter().collect()
    }

    /// `lamp` with these words, talking to this server.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(words)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.path())
            .env("LAMP_SERVER", self.path().join("run/lamp.sock"))
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    pub fn lamp(&self, words: &[&str]) -> Said {
        Said::of(&self.command(words).output().unwrap())
    }

    /// The same, with something to read.
    pub fn lamp_reading(&self, words: &[&str], input: &[u8]) -> Said {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Said::of(&child.wait_with_output().unwrap())
    }

    /// Makes a sandbox: `house.sandbox("try", &["--tier", "verified", "--allow", "ok.test"])`.
    pub fn sandbox(&self, name: &str, words: &[&str]) {
        let all: Vec<&str> =
            ["sandbox", "create", name].into_iter().chain(words.iter().copied()).collect();
        let said = self.lamp(&all);
        assert!(said.succeeded(), "the sandbox `{name}` cannot be made: {said}");
    }

    /// Runs a command in a sandbox, as its agent.
    pub fn run(&self, sandbox: &str, argv: &[&str]) -> Said {
        self.run_as("agent", sandbox, argv)
    }

    /// Runs a command in a sandbox as its `agent`, or as the `root` of its own files.
    pub fn run_as(&self, user: &str, sandbox: &str, argv: &[&str]) -> Said {
        self.lamp(&[&["sandbox", "exec", "--user", user, sandbox, "--"], argv].concat())
    }

    /// Starts a command in a sandbox. It is ended when what this gives is dropped.
    pub fn spawn(&self, sandbox: &str, argv: &[&str]) -> Running {
        let mut command = self.command(&[&["sandbox", "exec", sandbox, "--"], argv].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        Running(Some(command.spawn().unwrap()))
    }

    /// Runs a script in a sandbox.
    pub fn shell(&self, sandbox: &str, script: &str) -> Said {
        self.run(sandbox, &["sh", "-c", script])
    }

    /// Brings a file into a sandbox.
    pub fn push(&self, sandbox: &str, file: &Path, to: &str) {
        let said =
            self.lamp(&["sandbox", "cp", file.to_str().unwrap(), &format!("{sandbox}:{to}")]);
        assert!(said.succeeded(), "{said}");
    }

    /// Every record of the way out. This is the only place that knows where they are.
    pub fn audit(&self) -> Vec<Record> {
        let path = self.path().join("data/egress/log.jsonl");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // A line that is being written has no end yet.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| Record(serde_json::from_str(line).unwrap())).collect()
    }

    /// Every row of the audit log that says this was done, as `lamp audit export` prints it.
    pub fn rows(&self, action: &str) -> Vec<Value> {
        let said =
            self.lamp(&["audit", "export", "--data", self.path().join("data").to_str().unwrap()]);
        assert!(said.succeeded(), "{said}");
        let all = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|row| row.to_string().contains(&format!("\"{action}\""))).collect()
    }

    /// The records after so many. Waits until there are `count` of those that are `wanted`, or it took too long.
    pub fn audited(
        &self,
        mark: usize,
        count: usize,
        wanted: impl Fn(&Record) -> bool,
    ) -> Vec<Record> {
        let end = Instant::now() + PATIENCE;
        loop {
            let new: Vec<Record> = self.audit().split_off(mark);
            let enough = new.iter().filter(|record| wanted(record)).count() >= count;
            if enough || Instant::now() > end {
                return new;
            }
            breathe();
        }
    }
}

impl Drop for House<'_> {
    fn drop(&mut self) {
        if self.server.is_none() {
            // Somebody has to clear away what a killed one left.
            self.up();
        }
        self.end(Signal::TERM);
        if std::thread::panicking() {
            #[expect(clippy::print_stderr, reason = "what helps to understand a failed test")]
            for line in self.complaints() {
                eprintln!("lamp up: {line}");
            }
        }
    }
}

/// Lets others work for a moment.
pub fn breathe() {
    let (_keep, nothing) = channel::<()>();
    let _ = nothing.recv_timeout(Duration::from_millis(10));
}

/// The program as it was built, beside this one.
pub fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let found = own.ancestors().skip(1).map(|directory| directory.join("lamp"));
    let is_program = |path: &PathBuf| path.is_file();
    found.take(3).find(is_program).expect("`cargo build -p lamp` comes first")
}
