//! The journey, measured: how soon an agent works, what the house adds to its time, what it takes of memory, and how many tasks it bears.
//!
//! ```text
//!  by hand:  this program ──▶ the agent's program, in a checkout
//!  ours:     typed client ──▶ lamp up ──▶ research · plan · (yes) · implement · verify · review · deliver ──▶ pull request
//!  a crowd:  typed client ──▶ gateway + engine + store, in a process of its own ──▶ a scripted outside
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`actor`], [`repository`] | who works, and on what |
//! | [`story`] | the scripted model of the built-in agent |
//! | [`play`] | one task on a real server |
//! | [`bare`] | the same by hand |
//! | [`shares`] | whose time a task took |
//! | [`verdict`] | what was promised, and whether it is kept |
//! | [`growth`] | what a server keeps of the tasks that it has done |
//! | [`crowd`], [`door`] | many scripted tasks, and the server that has them done |
//!
//! **Invariant:** whatever happens, no process, sandbox or file stays behind.

pub mod actor;
pub mod bare;
pub mod crowd;
pub mod door;
pub mod growth;
pub mod play;
pub mod repository;
pub mod shares;
pub mod story;
pub mod verdict;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;

use crate::{
    Bench,
    agents::{house, house::House, memory},
    sandbox::ground::rest,
};

use bare::ByHand;
use play::Played;
use story::Teller;

/// How long a server is left alone before its memory is looked at.
const SETTLING: Duration = Duration::from_secs(2);

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Whole,
    /// A small part, to see that it works: figures of it say little.
    Quick,
}

impl Size {
    /// Servers that are started for one first task each, beside the one that has all the others.
    const fn cold_servers(self) -> usize {
        match self {
            Self::Whole => 4,
            Self::Quick => 1,
        }
    }

    /// Whole tasks of each of the two agents: ten in all, after which memory is looked at again.
    const fn tasks(self) -> usize {
        match self {
            Self::Whole => 5,
            Self::Quick => 2,
        }
    }
}

/// What is measured with, and how much.
#[derive(Debug)]
pub struct Effort {
    pub size: Size,
    /// The program; built as this one is, where none is named.
    pub lamp: Option<PathBuf>,
}

pub async fn run(bench: &mut Bench, effort: Effort) -> anyhow::Result<()> {
    let Effort { size, lamp } = effort;
    let lamp = match lamp {
        Some(lamp) => lamp,
        None => house::build().await?,
    };
    let scratch = bench.directory()?;
    let measured = Box::pin(measure(size, lamp, scratch.path())).await?;
    verdict::tell(&mut bench.report, &measured)?;
    Box::pin(crowd::run(bench, size)).await
}

/// All that was measured of tasks on real servers.
#[derive(Debug, Default)]
pub struct Measured {
    pub by_hand: Vec<ByHand>,
    /// Until the first words of the first task of a new server.
    pub cold: Vec<Duration>,
    /// The same agent, on a server that knows the repository.
    pub command: Vec<Played>,
    pub builtin: Vec<Played>,
    pub idle: Vec<Idle>,
}

/// What a server had while nothing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    pub after_tasks: usize,
    pub server: Memory,
    pub gateway: Memory,
}

/// What a process had, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub resident: u64,
    /// Without pages of files such as its program.
    pub own: u64,
}

impl Memory {
    fn of(process: u32) -> anyhow::Result<Self> {
        Ok(Self { resident: memory::resident(process)?, own: memory::anonymous(process)? })
    }
}

async fn measure(size: Size, lamp: PathBuf, scratch: &Path) -> anyhow::Result<Measured> {
    let repository = repository::make(&scratch.join("sums"))?;
    let teller = Teller::start().await?;
    let mut measured = Measured::default();
    for number in 0..size.cold_servers() {
        let data = scratch.join(format!("cold-{number}"));
        let house = House::open(lamp.clone(), &data, &files(teller.port)).await?;
        let spoke = play::first_word(&house.client(), actor::NAME, &repository).await?;
        measured.cold.push(spoke);
        house.close().await?;
    }
    let house = House::open(lamp, &scratch.join("data"), &files(teller.port)).await?;
    measured.idle.push(weigh(&house, 0).await?);
    let client = house.client();
    measured.cold.push(play::first_word(&client, actor::NAME, &repository).await?);
    for number in 0..size.tasks() {
        // In turn, so that an hour in which the machine is slow is everybody's.
        let checkout = scratch.join(format!("checkout-{number}"));
        measured.by_hand.push(bare::play(&repository, &checkout).await?);
        measured.command.push(play::whole(&client, actor::NAME, &repository).await?);
        measured.builtin.push(
            play::whole(&client, "builtin", &repository).await.context("the built-in agent")?,
        );
    }
    measured.idle.push(weigh(&house, 1 + 2 * size.tasks()).await?);
    house.close().await?;
    Ok(measured)
}

async fn weigh(house: &House, after_tasks: usize) -> anyhow::Result<Idle> {
    rest(SETTLING).await;
    let server = house.process();
    let gateway = memory::below(server, "lamp-proxy")?;
    Ok(Idle { after_tasks, server: Memory::of(server)?, gateway: Memory::of(gateway)? })
}

/// What a server reads: as it comes, but for a disk that fits beside the other benches, and the scripted model.
fn files(port: u16) -> [(&'static str, String); 3] {
    let server = format!(
        "version: 1\nsandboxes: {{ disk_guaranteed: 256MiB, disk_budget: 4GiB }}\nmodels:\n  \
         - {{ name: scripted, provider: openai, url: 'http://localhost:{port}/v1', addresses: [127.0.0.1], model: gpt-5-mini }}\n"
    );
    let phases = ["research", "implement", "review"]
        .map(|phase| format!("  {phase}: {{ allow: ['model:openai'] }}\n"));
    let policy = format!("version: 1\negress:\n{}", phases.concat());
    [("lamp.yaml", server), ("policy.yaml", policy), ("agents/mender.yaml", actor::file())]
}
