//! Thousands of scripted tasks under random kills: `make chaos TASKS=2000`.
//!
//! Engines in processes of their own are killed, frozen and started again at random while tasks are
//! submitted, paused and cancelled. In the end it prints what was lost, doubled and orphaned, on each
//! database. All zero, or the exit code says so. The seed is printed, and can be given again: it
//! chooses the scripts and the victims, though not the moments, which the machine chooses.

mod dice;
mod storm;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use contracts::clock::{Clock as _, SystemClock};
use testkit::postgres::Postgres;
use tests::arena::Ground;

/// Run scripted tasks under random kills, and count what was lost, doubled and orphaned.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many tasks, on each database
    #[arg(long, default_value_t = 2_000)]
    tasks: usize,

    #[arg(long, value_enum, default_value_t = Databases::Both)]
    database: Databases,

    /// Chooses scripts and victims; from the clock if not given
    #[arg(long)]
    seed: Option<u64>,

    /// Give up after this many seconds on a database
    #[arg(long, default_value_t = 900)]
    patience: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Databases {
    Sqlite,
    Postgres,
    Both,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this program reports on its standard output")]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let now = SystemClock.now().as_millis();
    let seed = arguments.seed.unwrap_or_else(|| now.unsigned_abs());
    println!("chaos: {} tasks, seed {seed}", arguments.tasks);
    let mut clean = true;
    if arguments.database != Databases::Postgres {
        let report = storm::rage(Ground::Sqlite, storm::Engines::One, &arguments, seed).await?;
        println!("SQLite, one engine: {report}");
        clean &= report.verdict.is_clean();
    }
    if arguments.database != Databases::Sqlite {
        let postgres = Postgres::start()?;
        let ground = Ground::Postgres(postgres.url());
        let report = storm::rage(ground, storm::Engines::Three, &arguments, seed).await?;
        println!("PostgreSQL, three engines: {report}");
        clean &= report.verdict.is_clean();
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
