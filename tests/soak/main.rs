//! Many cycles of open, run and destroy under random kills: `make soak CYCLES=10000`.
//!
//! The server, the first processes of sandboxes and the launcher are killed at random, and everything that is left on the host
//! in the end is told. Nothing, or the exit code says so. The seed chooses the victims, though not the moments, which the
//! machine chooses.

mod cycles;
#[path = "../chaos/dice.rs"]
mod dice;
mod host;
mod keeper;
mod server_process;
mod storm;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use contracts::clock::{Clock as _, SystemClock};

/// Open, use and destroy sandboxes under random kills, and tell what is left on the host.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(long, default_value_t = 10_000)]
    cycles: usize,

    /// How many are under way at the same moment
    #[arg(long, default_value_t = 6)]
    at_once: usize,

    /// How many computers wait in the pool
    #[arg(long, default_value_t = 2)]
    waiting: u32,

    /// Chooses the victims; from the clock if not given
    #[arg(long)]
    seed: Option<u64>,
}

#[expect(clippy::print_stdout, reason = "this program reports on its standard output")]
fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let now = SystemClock.now().as_millis();
    let seed = arguments.seed.unwrap_or_else(|| now.unsigned_abs());
    println!("soak: {} cycles, seed {seed}", arguments.cycles);
    let us = std::env::current_exe()?;
    let beside_us = us.parent().context("this program is nowhere")?;
    let report = storm::rage(&storm::Orders {
        cycles: arguments.cycles,
        at_once: arguments.at_once,
        seed,
        server: beside_us.join("sandbox-server"),
        waiting: arguments.waiting,
    })?;
    println!("{report}");
    let nobody = keeper::Victim::ALL.into_iter().find(|victim| report.killed(*victim) == 0);
    if let Some(nobody) = nobody {
        println!("no kill of {nobody:?} happened, so nothing was shown");
    }
    let clean = report.leaks.is_empty() && nobody.is_none();
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
