//! The real `lamp up` in this machine's own network, for what only the real internet has.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A running server. It ends with all that it made when this is dropped.
pub(crate) struct OwnHouse {
    directory: TempDir,
    server: Child,
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    code: Option<i32>,
    text: String,
}

impl Said {
    pub(crate) fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    pub(crate) fn all(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ended {:?}: {}", self.code, self.text.trim())
    }
}

impl OwnHouse {
    /// Starts a server with this policy, whose sandboxes see this toolchain.
    pub(crate) fn start(policy: &str, toolchain: Option<&Path>) -> Self {
        let directory = tempfile::Builder::new().prefix("own").tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let toolchains: Vec<String> =
            toolchain.iter().map(|path| format!("'{}'", path.display())).collect();
        let server = format!(
            "version: 1\nsandboxes: {{ warm: 0, toolchains: [{}] }}\n",
            toolchains.join(", ")
        );
        std::fs::write(at("policy.yaml"), policy).unwrap();
        std::fs::write(at("lamp.yaml"), server).unwrap();
        let mut command = Command::new(program());
        command.args(["up", "--temporary", "--listen", "127.0.0.1:0"]);
        for (flag, name) in [("--data", "data"), ("--run", "run"), ("--config", "lamp.yaml")] {
            command.arg(flag).arg(at(name));
        }
        let mut server = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("Ctrl-C ends it") {
            assert_ne!(lines.read_line(&mut said).unwrap(), 0, "the server did not start: {said}");
        }
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self { directory, server }
    }

    fn lamp(&self, words: &[&str]) -> Said {
        let output = Command::new(program())
            .args(words)
            .env("LAMP_SERVER", self.directory.path().join("run/lamp.sock"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        Said { code: output.status.code(), text: String::from_utf8_lossy(&text).into_owned() }
    }

    pub(crate) fn sandbox(&self, name: &str, words: &[&str]) {
        let said = self.lamp(&[&["sandbox", "create", name], words].concat());
        assert!(said.succeeded(), "{said}");
    }

    pub(crate) fn shell(&self, sandbox: &str, script: &str) -> Said {
        self.lamp(&["sandbox", "exec", sandbox, "--", "sh", "-c", script])
    }

    /// Waits until the package managers of this machine have said where their registries are.
    pub(crate) fn knows(&self, sandbox: &str, place: &str) {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let said = self.lamp(&["policy", "explain", "--json", "--sandbox", sandbox, place]);
            let told: Value = serde_json::from_str(said.all()).unwrap_or_default();
            if told["verdict"] == "allow" {
                return;
            }
            assert!(Instant::now() < end, "{said}");
        }
    }
}

impl Drop for OwnHouse {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.server), Signal::TERM);
        let _ = self.server.wait();
    }
}

/// The program as it was built, beside this one.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let found = own.ancestors().skip(1).map(|directory| directory.join("lamp"));
    found.take(3).find(|path| path.is_file()).expect("`cargo build -p lamp` comes first")
}
