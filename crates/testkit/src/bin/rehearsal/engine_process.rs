//! The engine, in a process of its own, so that it can be killed for real.
//!
//! The process ends when its stdin does, so it never outlives the story. With [`Mishap::BeforeWriting`]
//! it stops at the worst moment (the agent has changed the code, the outcome is not written), says
//! so, and waits to be killed.

use std::{
    io::{self, Read as _, Write as _},
    path::Path,
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use contracts::clock::{Clock as _, SystemClock};
use domain::task::Step;
use engine::{Engine, Moment, Settings, Witness};
use store::{Place, Store};
use testkit::{clock::AnyClock, ledger::Ledger, world::World};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};
use tokio_util::sync::CancellationToken;

/// The argument that makes this program the engine; a directory and a mishap follow.
pub(crate) const ARGUMENT: &str = "--engine";
/// What the engine says when it stands where it should be killed.
const HERE: &str = "here";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mishap {
    None,
    BeforeWriting,
}

impl Mishap {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BeforeWriting => "before-writing",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::BeforeWriting].into_iter().find(|mishap| mishap.name() == name)
    }
}

/// The store and the outside in `directory`, as both processes open them.
pub(crate) async fn open(directory: &Path) -> anyhow::Result<(Arc<Store>, Ledger)> {
    let place = Place::new(directory.join("data"));
    let store = Arc::new(store::open(&place.sqlite_url(), &place).await?);
    Ok((store, Ledger::open(directory.join("outside"))?))
}

pub(crate) fn engine(store: Arc<Store>, ledger: Ledger, mishap: Mishap) -> Engine<World> {
    let settings = World::settings("rehearsal");
    let settings = Settings {
        // Nobody else is there who could take a step over.
        lease: Duration::from_mins(1),
        sweep_every: Duration::from_mins(1),
        witness: match mishap {
            Mishap::None => settings.witness.clone(),
            Mishap::BeforeWriting => Arc::new(Stumbling),
        },
        ..settings
    };
    Engine::new(store, Arc::new(World::new(ledger, AnyClock::System)), settings)
}

/// Stops the engine when the agent has changed code and nothing of it is written down.
#[derive(Debug)]
struct Stumbling;

impl Witness for Stumbling {
    fn sees(&self, moment: Moment) {
        match moment {
            Moment::Done { step: Step::Implement, .. } => {
                // If the story has ended, so does this process, soon.
                drop(writeln!(io::stdout(), "{HERE}"));
                loop {
                    std::thread::park();
                }
            }
            Moment::Done { .. }
            | Moment::Claimed { .. }
            | Moment::Appended { .. }
            | Moment::PutBack { .. } => {}
        }
    }
}

/// Runs the engine in `directory` until stdin ends.
pub(crate) fn be(directory: &Path, mishap: Mishap) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serve(directory, mishap));
    // One of its threads may stand still for good.
    runtime.shutdown_background();
    served
}

async fn serve(directory: &Path, mishap: Mishap) -> anyhow::Result<()> {
    let (store, ledger) = open(directory).await?;
    let engine = engine(store, ledger, mishap);
    let stop = CancellationToken::new();
    let stopping = async {
        // Nothing is ever sent: this ends when the other end closes.
        drop(tokio::task::spawn_blocking(|| io::stdin().read(&mut [0])).await);
        stop.cancel();
        SystemClock.sleep_until(SystemClock.now() + Duration::from_secs(2)).await;
    };
    tokio::select! {
        () = engine.run(stop.clone()) => engine.store().close().await,
        () = stopping => {}
    }
    Ok(())
}

/// A running engine process.
#[derive(Debug)]
pub(crate) struct EngineProcess {
    child: Child,
    stdin: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl EngineProcess {
    pub(crate) fn start(directory: &Path, mishap: Mishap) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .arg(ARGUMENT)
            .arg(directory)
            .arg(mishap.name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the engine")?;
        let stdin = child.stdin.take().context("the engine has no stdin")?;
        let stdout = child.stdout.take().context("the engine has no stdout")?;
        Ok(Self { child, stdin, said: BufReader::new(stdout).lines() })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Returns when the engine stands where it should be killed.
    pub(crate) async fn worst_moment(&mut self) -> anyhow::Result<()> {
        let said = self.said.next_line().await?;
        anyhow::ensure!(said.as_deref() == Some(HERE), "the engine ended by itself");
        Ok(())
    }

    /// SIGKILL: it cannot be caught, and nothing is tidied up.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Lets it end in good order.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.stdin);
        let status = self.child.wait().await?;
        anyhow::ensure!(status.success(), "the engine ended with {status}");
        Ok(())
    }
}
