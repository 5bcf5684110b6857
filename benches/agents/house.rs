//! Our house: the real `lamp up`, with the scripted model as its provider, on data that is kept.
//!
//! The program is built first, as this one is: what lies beside it may be of another day.

use std::{
    collections::BTreeSet,
    net::{IpAddr, ToSocketAddrs as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use wire::client::{Client, Endpoint};

use super::memory;
use crate::sandbox::ground::rest;

/// How long it may take to start. It may have to clear away what an earlier one left.
const PATIENCE: Duration = Duration::from_mins(1);

/// What of the disk it takes, and keeps: the images have under 2 GiB.
const BUDGET: &str = "4GiB";

/// What it says when it serves.
const READY: &str = "Ctrl-C ends it";

/// A running server. It ends with all that it made when this is dropped.
#[derive(Debug)]
pub struct House {
    lamp: PathBuf,
    data: PathBuf,
    directory: TempDir,
    server: Child,
}

impl House {
    /// On data that is kept, with the model at this port.
    pub async fn start(data: &Path, port: u16) -> anyhow::Result<Self> {
        let files = [("lamp.yaml", server(port)), ("policy.yaml", policy())];
        Self::open(build().await?, data, &files).await
    }

    /// The program `lamp`, on this data, with these files beside its `lamp.yaml`, which is one of them.
    pub async fn open(
        lamp: PathBuf,
        data: &Path,
        files: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(data)?;
        let directory = tempfile::Builder::new().prefix("bench-").tempdir()?;
        let at = |name: &str| directory.path().join(name);
        for (name, text) in files {
            fs::create_dir_all(at(name).parent().context("a file is in a directory")?)?;
            fs::write(at(name), text)?;
        }
        let log = fs::File::create(at("said"))?.into_parts().0;
        let mut command = Command::new(&lamp);
        command
            .args(["up", "--temporary", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args([Path::new("--run"), &at("run"), Path::new("--config"), &at("lamp.yaml")])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let server = command.spawn()?;
        let mut house = Self { lamp, data: data.to_owned(), directory, server };
        house.until_it_serves().await?;
        Ok(house)
    }

    async fn until_it_serves(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let said = fs::read_to_string(self.directory.path().join("said"))?;
            if said.contains(READY) {
                return Ok(());
            }
            let last = said.lines().last().unwrap_or_default();
            if let Some(status) = self.server.try_wait()? {
                bail!("the server ended with {status}: {last}");
            }
            ensure!(begun.elapsed() < PATIENCE, "the server does not serve: {last}");
            rest(Duration::from_millis(50)).await;
        }
    }

    /// The typed client of this server, which `lamp` uses too.
    pub fn client(&self) -> Client {
        Client::new(Endpoint::Unix(self.directory.path().join("run/lamp.sock")))
    }

    /// The server's own process.
    pub fn process(&self) -> u32 {
        self.server.id()
    }

    /// `lamp` with these words, talking to this server.
    pub fn command(&self, words: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.lamp);
        command
            .args(words)
            .env("LAMP_SERVER", self.directory.path().join("run/lamp.sock"))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// What it says to these words.
    pub async fn lamp(&self, words: &[&str]) -> anyhow::Result<String> {
        let told = self.command(words).output().await?;
        let said = String::from_utf8_lossy(&told.stderr);
        ensure!(told.status.success(), "lamp {}: {}", words.join(" "), said.trim());
        Ok(String::from_utf8(told.stdout)?)
    }

    /// The first process of a sandbox, as the host sees it.
    pub fn first_process(&self, id: &str) -> anyhow::Result<u32> {
        let record = self.data.join(format!("sandboxes/records/{id}.json"));
        let record = fs::read_to_string(record)?;
        let (_, after) = record.split_once("\"pid\":").context("a record without a process")?;
        let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
        Ok(digits.parse()?)
    }

    /// What the server has, and the gateway and launcher that it started, in KiB.
    pub fn own_kib(&self) -> anyhow::Result<u64> {
        memory::resident_outside(self.server.id())
    }

    /// Ends it, and says when it did not end well.
    pub async fn close(mut self) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.server), Signal::TERM)?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.server.try_wait()? {
                ensure!(status.success(), "the server ended with {status}");
                return Ok(());
            }
            rest(Duration::from_millis(50)).await;
        }
        bail!("the server does not end")
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // Asked, not killed: it ends its sandboxes. One that has ended is not asked.
        if matches!(self.server.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.server), Signal::TERM);
            let _ = self.server.wait();
        }
    }
}

/// `lamp`, built as this program is.
pub async fn build() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    // <target>/<profile>/deps/<this program>
    let beside = own.ancestors().nth(2).context("this program is in no build")?;
    let target = beside.parent().context("this program is in no build")?;
    let profile = match beside.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(other) => other,
        None => bail!("this program is in no build"),
    };
    let mut command = tokio::process::Command::new(env!("CARGO"));
    command
        .args(["build", "--locked", "-p", "lamp", "--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null());
    let status = command.status().await.context("cargo")?;
    ensure!(status.success(), "`lamp` cannot be built: {status}");
    Ok(beside.join("lamp"))
}

/// The model, as every provider that the programs can speak with.
fn server(port: u16) -> String {
    let models = [("anthropic", ""), ("openai", "/v1")].map(|(name, path)| {
        format!(
            "  - {{ name: {name}, provider: {name}, url: 'http://localhost:{port}{path}', addresses: [127.0.0.1] }}\n"
        )
    });
    // A request that nobody waits for any more has money set aside for as long as its model says nothing, and some of ours hang.
    format!(
        "version: 1\ndefaults: {{ budget: '$1000' }}\nsandboxes: {{ warm: 0, disk_guaranteed: 256MiB, disk_budget: {BUDGET} }}\nmodels:\n{}",
        models.concat()
    )
}

/// The registry for who builds images, and the model for who works.
fn policy() -> String {
    format!(
        "version: 1\negress:\n  setup: {{ allow: ['registry:npm'] }}\n  \
         implement: {{ allow: ['model:anthropic', 'model:openai'] }}\ninternal:\n{}",
        registries()
    )
}

/// Where this machine's npm gets its packages, declared as a company declares its mirror: it may be at a private address.
fn registries() -> String {
    let told = Command::new("npm").args(["config", "get", "registry"]).current_dir("/").output();
    let told = told.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default();
    let host = told.trim().strip_prefix("https://").and_then(|rest| rest.split(['/', ':']).next());
    let Some(host) = host.filter(|host| !host.is_empty()) else { return String::new() };
    let found = (host, 443).to_socket_addrs();
    let found: BTreeSet<IpAddr> =
        found.map(|all| all.map(|it| it.ip()).collect()).unwrap_or_default();
    if found.is_empty() {
        return String::new();
    }
    let found: Vec<String> = found.iter().map(|address| format!("'{address}'")).collect();
    format!("  - {{ name: registry, host: {host}, addresses: [{}] }}\n", found.join(", "))
}
