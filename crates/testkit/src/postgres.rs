//! A real PostgreSQL, in a directory of its own, reachable by a socket only, gone with the test.
//!
//! PostgreSQL refuses to run as root, so root starts it as the user `postgres` that its Debian package
//! makes. The server is told to end when the thread that started it does.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use fs_err as fs;
use tempfile::TempDir;

#[derive(Debug)]
pub struct Postgres {
    directory: TempDir,
    server: Child,
    programs: PathBuf,
    durability: Durability,
}

/// What becomes of a commit when the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Flushed to disk before it is answered, as in production. For measuring.
    Kept,
    /// Left to the operating system: quicker, and enough for tests, which never cut the power.
    Forgotten,
}

impl Postgres {
    /// A server for tests.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(Durability::Forgotten)
    }

    pub fn start_with(durability: Durability) -> anyhow::Result<Self> {
        let programs = programs()?;
        let directory = tempfile::Builder::new().prefix("lamp-pg-").tempdir()?;
        if is_root() {
            // The server's user must be able to come in.
            let owner = format!("{}", directory.path().display());
            run(Command::new("chown").args(["postgres:postgres", &owner]))?;
        }
        let data = directory.path().join("data");
        let mut initdb = as_server(&programs.join("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=lamp", "--encoding=UTF8", "-D"]);
        run(initdb.arg(&data))?;
        let server = Self::start_server(&programs, directory.path(), durability)?;
        let postgres = Self { directory, server, programs, durability };
        postgres.wait_until_ready()?;
        Ok(postgres)
    }

    /// Where to reach it.
    pub fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=lamp", self.directory.path().display())
    }

    /// A new, empty database in it.
    pub fn new_database(&self, name: &str) -> anyhow::Result<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.arg("-h").arg(self.directory.path()).args(["-U", "lamp", "-d", "postgres", "-qc"]);
        run(psql.arg(format!("CREATE DATABASE {name}")))?;
        Ok(self.url().replace("///postgres?", &format!("///{name}?")))
    }

    /// Ends the server without a word to anybody, as a power cut would, and starts it again.
    pub fn crash_and_restart(&mut self) -> anyhow::Result<()> {
        self.crash()?;
        self.server = Self::start_server(&self.programs, self.directory.path(), self.durability)?;
        self.wait_until_ready()
    }

    /// Ends the server at once.
    pub fn crash(&mut self) -> anyhow::Result<()> {
        let data = self.directory.path().join("data");
        let mut stop = as_server(&self.programs.join("pg_ctl"));
        run(stop.args(["stop", "-m", "immediate", "-D"]).arg(data))?;
        self.server.wait()?;
        Ok(())
    }

    fn start_server(
        programs: &Path,
        directory: &Path,
        durability: Durability,
    ) -> anyhow::Result<Child> {
        let fsync = match durability {
            Durability::Kept => "fsync=on",
            Durability::Forgotten => "fsync=off",
        };
        let log = fs::OpenOptions::new().create(true).append(true).open(directory.join("log"))?;
        let mut server = as_server(&programs.join("postgres"));
        server
            .arg("-D")
            .arg(directory.join("data"))
            .arg("-k")
            .arg(directory)
            .args(["-c", "listen_addresses=", "-c", fsync, "-c", "max_connections=200"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.into_file());
        server.spawn().context("cannot start PostgreSQL")
    }

    fn wait_until_ready(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            let mut ready = Command::new(self.programs.join("pg_isready"));
            ready.arg("-q").arg("-h").arg(self.directory.path());
            if ready.status()?.success() {
                return Ok(());
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "the server tells nobody when it is ready"
            )]
            std::thread::sleep(Duration::from_millis(20));
        }
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        bail!("PostgreSQL does not start:\n{log}")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Nothing can be done about a server that is already gone.
        drop(self.crash());
    }
}

/// Debian keeps the server's programs beside each other, by version.
fn programs() -> anyhow::Result<PathBuf> {
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .context("PostgreSQL is not installed; `make setup` installs it")?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|programs| programs.join("postgres").is_file())
        .collect();
    versions.sort();
    versions.pop().context("PostgreSQL's server is not installed; `make setup` installs it")
}

fn as_server(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    }
    command.arg("--pdeathsig=TERM").arg("--").arg(program);
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr))
}
