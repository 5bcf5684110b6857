//! The real `lamp up` in this machine's own network, for what only the real internet has.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    net::{IpAddr, ToSocketAddrs as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::house::{Plan, Said, breathe, program};

/// A running server. It ends with all that it made when this is dropped.
#[derive(Debug)]
pub struct OwnHouse {
    directory: TempDir,
    data: PathBuf,
    server: Option<Child>,
}

impl OwnHouse {
    /// Starts a server with nothing in it.
    pub fn start(plan: &Plan) -> Self {
        let directory = tempfile::Builder::new().prefix("own").tempdir().unwrap();
        let data = directory.path().join("data");
        Self::build(directory, data, plan)
    }

    /// Starts a server on data that is kept, so that its images are there the next time. Two must not have the same at once.
    pub fn start_on(data: &Path, plan: &Plan) -> Self {
        let directory = tempfile::Builder::new().prefix("own").tempdir().unwrap();
        std::fs::create_dir_all(data).unwrap();
        Self::build(directory, data.to_owned(), plan)
    }

    fn build(directory: TempDir, data: PathBuf, plan: &Plan) -> Self {
        std::fs::write(directory.path().join("policy.yaml"), &plan.policy).unwrap();
        std::fs::write(directory.path().join("lamp.yaml"), &plan.server).unwrap();
        std::fs::create_dir(directory.path().join("agents")).unwrap();
        for (name, text) in &plan.agents {
            std::fs::write(directory.path().join(format!("agents/{name}.yaml")), text).unwrap();
        }
        let mut house = Self { directory, data, server: None };
        house.up();
        house
    }

    fn up(&mut self) {
        let at = |name: &str| self.directory.path().join(name);
        let mut command = Command::new(program());
        command.args(["up", "--temporary", "--listen", "127.0.0.1:0"]);
        command.arg("--data").arg(&self.data);
        command.arg("--run").arg(at("run")).arg("--config").arg(at("lamp.yaml"));
        let mut server = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("Ctrl-C ends it") {
            assert_ne!(lines.read_line(&mut said).unwrap(), 0, "the server did not start: {said}");
        }
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        self.server = Some(server);
    }

    /// Kills the server as a fault would, and starts another on the same data. Sandboxes live on meanwhile.
    pub fn kill_and_restart(&mut self) {
        self.end(Signal::KILL);
        self.up();
    }

    fn end(&mut self, signal: Signal) {
        if let Some(mut server) = self.server.take() {
            let _ = kill_process(Pid::from_child(&server), signal);
            let _ = server.wait();
        }
    }

    /// `lamp` with these words, talking to this server.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(words)
            .env("LAMP_SERVER", self.directory.path().join("run/lamp.sock"))
            .stdin(Stdio::null());
        command
    }

    pub fn lamp(&self, words: &[&str]) -> Said {
        Said::of(&self.command(words).output().unwrap())
    }

    /// The directory of the public keys that its receipts are checked with.
    pub fn keys(&self) -> PathBuf {
        self.data.join("keys/public")
    }

    pub fn sandbox(&self, name: &str, words: &[&str]) {
        let said = self.lamp(&[&["sandbox", "create", name], words].concat());
        assert!(said.succeeded(), "{said}");
    }

    pub fn shell(&self, sandbox: &str, script: &str) -> Said {
        self.lamp(&["sandbox", "exec", sandbox, "--", "sh", "-c", script])
    }

    /// Every record of the way out, of the sandbox of this id.
    pub fn audit(&self, sandbox: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.data.join("egress/log.jsonl")).unwrap_or_default();
        let rows = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        rows.filter(|row| row["sandbox"] == sandbox).collect()
    }

    /// Waits until the package managers of this machine have said where their registries are.
    pub fn knows(&self, sandbox: &str, place: &str) {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let said = self.lamp(&["policy", "explain", "--json", "--sandbox", sandbox, place]);
            let told: Value = serde_json::from_str(&said.all()).unwrap_or_default();
            if told["verdict"] == "allow" {
                return;
            }
            assert!(Instant::now() < end, "{said}");
            breathe();
        }
    }
}

impl Drop for OwnHouse {
    fn drop(&mut self) {
        self.end(Signal::TERM);
    }
}

/// The part of a policy that declares these places where they are at private addresses, as a company would declare its mirror.
pub fn declared<'a>(places: impl Iterator<Item = &'a String>) -> String {
    let hosts: BTreeSet<String> = places.filter_map(|place| host(place)).collect();
    let declared = hosts.iter().zip(0..).filter_map(|(host, number)| {
        let told: Vec<String> = addresses(host).iter().map(|ip| format!("'{ip}'")).collect();
        let told = told.join(", ");
        (!told.is_empty()).then(|| {
            format!("  - {{ name: registry-{number}, host: {host}, addresses: [{told}] }}\n")
        })
    });
    let declared: String = declared.collect();
    format!("internal:\n{declared}")
}

/// Where this machine's npm gets its packages.
pub fn npm() -> Vec<String> {
    let output = Command::new("npm").args(["config", "get", "registry"]).current_dir("/").output();
    let said = output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    said.unwrap_or_default().lines().map(str::to_owned).collect()
}

fn host(place: &str) -> Option<String> {
    let rest = place.trim().strip_prefix("https://")?;
    let host = rest.split(['/', ':']).next()?;
    Some(host.to_owned()).filter(|host| !host.is_empty())
}

fn addresses(host: &str) -> BTreeSet<IpAddr> {
    (host, 443).to_socket_addrs().map(|all| all.map(|it| it.ip()).collect()).unwrap_or_default()
}
