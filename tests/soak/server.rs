//! Sandboxes in a process of their own, so that it can be killed.
//!
//! It reads one request per line, `NUMBER VERB ...`, does them side by side, and answers each with one line: `NUMBER ok ...` or
//! `NUMBER failed ...`. It says `ready` when it has started. When its input ends, it removes everything and ends.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Context as _;
use clap::Parser;
use contracts::{
    clock::{Clock as _, SystemClock},
    ids::IdSource,
    sandbox::{Compute, Ended, Hooks, Owner, Sandboxes as _, Spec, Use, WorkspaceAccess},
};
use domain::{agent::Tier, id::SandboxId};
use sandbox::{PoolSettings, Provider, Retention, Settings, Walls};
use testkit::shell;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A server of sandboxes for tests that kill it.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(long)]
    directory: PathBuf,
    /// How many computers of a kind wait for somebody
    #[arg(long, default_value_t = 0)]
    waiting: u32,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let provider = Provider::start(settings(&arguments)).await?;
    say("ready");
    let (work, stop) = (TaskTracker::new(), CancellationToken::new());
    work.spawn({
        let (provider, stop) = (provider.clone(), stop.clone());
        async move { provider.run(&SystemClock, stop).await }
    });
    let mut lines = requests();
    while let Some(line) = lines.recv().await {
        let provider = provider.clone();
        work.spawn(async move {
            let (number, request) = line.split_once(' ').unwrap_or((&line, ""));
            let answer = match serve(&provider, request).await {
                Ok(told) => format!("{number} ok {told}"),
                Err(error) => format!("{number} failed {error:#}"),
            };
            say(&answer.replace('\n', "\\n"));
        });
    }
    stop.cancel();
    work.close();
    work.wait().await;
    Ok(provider.close().await?)
}

/// The lines of the standard input, until it ends.
fn requests() -> mpsc::Receiver<String> {
    let (give, lines) = mpsc::channel(64);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if give.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

#[expect(clippy::print_stdout, reason = "this program answers on its standard output")]
fn say(line: &str) {
    println!("{line}");
}

async fn serve(provider: &Provider, request: &str) -> anyhow::Result<String> {
    let mut words = request.splitn(4, ' ');
    let verb = words.next().unwrap_or_default();
    let mut id = || -> anyhow::Result<SandboxId> {
        let number: u128 = words.next().context("an id is missing")?.parse()?;
        Ok(SandboxId::from_u128(number))
    };
    match verb {
        "open" => provider.open(&spec(id()?)).await?,
        "fork" => {
            let (from, to) = (id()?, id()?);
            provider.fork(from, &spec(to)).await?;
        }
        "freeze" => provider.freeze(id()?).await?,
        "thaw" => provider.thaw(id()?).await?,
        "rest" => provider.rest(id()?).await?,
        "destroy" => provider.destroy(id()?).await?,
        "run" => {
            let id = id()?;
            let name = words.next().context("a name is missing")?;
            return run(provider, id, name, words.next().unwrap_or_default()).await;
        }
        "list" => {
            let listed = provider.list().await?;
            let ids: Vec<String> = listed.iter().map(|one| one.id.as_u128().to_string()).collect();
            return Ok(ids.join(" "));
        }
        other => anyhow::bail!("what is `{other}`?"),
    }
    Ok(String::new())
}

/// The exit code, and all that it said.
async fn run(
    provider: &Provider,
    id: SandboxId,
    name: &str,
    script: &str,
) -> anyhow::Result<String> {
    let command = shell::script(script, "/workspace");
    let (finished, said) = shell::run(provider, id, name, &command).await?;
    match finished.ending {
        Ended::Exited(code) => Ok(format!("{code} {said}")),
        other @ (Ended::Killed { .. } | Ended::TimedOut | Ended::OutOfMemory { .. }) => {
            anyhow::bail!("it ended by {other:?}")
        }
    }
}

fn spec(id: SandboxId) -> Spec {
    Spec {
        id,
        name: None,
        owner: Owner::Person("soak".to_owned()),
        purpose: Use::Person,
        image: "host".to_owned(),
        tier: Tier::Standard,
        compute: Compute { memory_mib: 256, disk_mib: 64, processes: 64, ..Compute::default() },
        sources: Vec::new(),
        hooks: Hooks::default(),
        workspace: WorkspaceAccess::Writable,
        conditions: None,
        network: None,
    }
}

fn settings(arguments: &Arguments) -> Settings {
    let millis = SystemClock.now().as_millis().unsigned_abs();
    let start = u128::from(millis) << 64 | u128::from(std::process::id()) << 32;
    Settings {
        data: arguments.directory.join("data"),
        run: arguments.directory.join("run"),
        toolchains: Vec::new(),
        tools: sandbox::Tools::default(),
        disk_bytes: 2 << 30,
        disk_guaranteed_bytes: 16 << 20,
        retention: Retention::default(),
        pool: PoolSettings { most_of_a_kind: arguments.waiting, ..PoolSettings::default() },
        walls: Walls::default(),
        road: None,
        clock: Arc::new(|| SystemClock.now()),
        ids: Arc::new(Counted { start, next: AtomicU64::new(0) }),
    }
}

/// Never the same for two servers.
#[derive(Debug)]
struct Counted {
    start: u128,
    next: AtomicU64,
}

impl IdSource for Counted {
    fn next(&self) -> u128 {
        self.start | u128::from(self.next.fetch_add(1, Ordering::Relaxed))
    }
}
