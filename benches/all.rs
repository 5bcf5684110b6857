//! `make bench`: measures everything, in a few minutes, and says what it found.
//!
//! With `--check` it fails when a promised number is missed; otherwise a miss is only told, because a
//! busy machine is no bug. A name measures one thing: `cargo bench -p benches -- sandbox`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context as _, bail};
use benches::{
    Bench, agents, append, egress, journey, lists, machine, replay, report::Report, sandbox, steps,
    waiting, words,
};

const USAGE: &str = "usage: cargo bench -p benches -- [--check] [--quick] [--rounds N] [--disk DIRECTORY] [--lamp PROGRAM] \
                     [--tasks N] [append|words|steps|lists|replay|waiting|sandbox|crowd|egress|agents|journey|growth]";
const MEASURES: [&str; 12] = [
    "append", "words", "steps", "lists", "replay", "waiting", "sandbox", "crowd", "egress",
    "agents", "journey", "growth",
];

/// What was asked for.
enum Wanted {
    Measures {
        only: Option<String>,
        misses: Misses,
        effort: Effort,
    },
    /// Be the small process that starts programs, for another run of this program.
    Floor,
    /// Be the engine whose memory another run of this program measures.
    Engine(PathBuf),
    /// Be the host that another run of this program asks.
    Upstream(PathBuf),
    /// Be the server that has scripted tasks done for another run of this program.
    Crowded(journey::door::Plan),
    /// A test runner wants to know the tests: there are none.
    List,
}

/// Where and how long is measured.
struct Effort {
    /// How often sandboxes are measured.
    rounds: usize,
    /// A directory on a real disk.
    disk: PathBuf,
    /// How many tasks are played, and by which `lamp`.
    journey: journey::Effort,
    /// How many a server has done when its memory is looked at last.
    tasks: usize,
}

/// What a missed number means.
enum Misses {
    Told,
    Fail,
}

fn main() -> anyhow::Result<ExitCode> {
    let wanted = wanted(std::env::args().skip(1))?;
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match wanted {
        Wanted::List => Ok(ExitCode::SUCCESS),
        Wanted::Floor => {
            sandbox::floor::serve()?;
            Ok(ExitCode::SUCCESS)
        }
        Wanted::Engine(directory) => {
            let said = runtime()?.block_on(waiting::engine_in(directory))?;
            Report::default().say(said)?;
            Ok(ExitCode::SUCCESS)
        }
        Wanted::Upstream(directory) => {
            let runtime = runtime()?;
            let served = runtime.block_on(egress::upstream::serve(directory));
            runtime.shutdown_background();
            served.map(|()| ExitCode::SUCCESS)
        }
        Wanted::Crowded(plan) => {
            let said = runtime()?.block_on(journey::door::serve(plan))?;
            Report::default().say(said)?;
            Ok(ExitCode::SUCCESS)
        }
        Wanted::Measures { only, misses, effort } => {
            runtime()?.block_on(measure(only.as_deref(), &misses, effort))
        }
    }
}

fn wanted(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Wanted> {
    let (mut only, mut misses) = (None, Misses::Told);
    let mut effort = Effort {
        rounds: sandbox::ROUNDS,
        disk: Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned(),
        journey: journey::Effort { size: journey::Size::Whole, lamp: None },
        tasks: 100,
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo says the one to every bench; the other may stand before a name.
            "--bench" | "--only" => {}
            "--list" => return Ok(Wanted::List),
            "--check" => misses = Misses::Fail,
            "--rounds" => {
                effort.rounds = arguments.next().context(USAGE)?.parse().context(USAGE)?;
            }
            "--tasks" => effort.tasks = arguments.next().context(USAGE)?.parse().context(USAGE)?,
            "--quick" => effort.journey.size = journey::Size::Quick,
            "--lamp" => effort.journey.lamp = Some(arguments.next().context(USAGE)?.into()),
            "--disk" => effort.disk = arguments.next().context(USAGE)?.into(),
            name if MEASURES.contains(&name) => only = Some(name.to_owned()),
            sandbox::floor::CHILD => return Ok(Wanted::Floor),
            egress::upstream::CHILD => {
                return Ok(Wanted::Upstream(arguments.next().context(USAGE)?.into()));
            }
            journey::door::CHILD => {
                return Ok(Wanted::Crowded(journey::door::Plan::read(&mut arguments)?));
            }
            waiting::CHILD => {
                return Ok(Wanted::Engine(arguments.next().context(USAGE)?.into()));
            }
            other => bail!("`{other}` is not an option\n{USAGE}"),
        }
    }
    Ok(Wanted::Measures { only, misses, effort })
}

async fn measure(only: Option<&str>, misses: &Misses, effort: Effort) -> anyhow::Result<ExitCode> {
    let Effort { rounds, disk, journey, tasks } = effort;
    let growth = journey::growth::Effort { tasks, lamp: journey.lamp.clone() };
    let mut bench = Bench { report: Report::default(), disk };
    bench.report.say(machine::header())?;
    let begun = Instant::now();
    let is_wanted = |name: &str| only.is_none_or(|only| only == name);
    if is_wanted("append") {
        append::run(&mut bench).await?;
    }
    if is_wanted("words") {
        words::run(&mut bench).await?;
    }
    if is_wanted("steps") {
        steps::run(&mut bench).await?;
    }
    if is_wanted("lists") {
        lists::run(&mut bench).await?;
    }
    if is_wanted("replay") {
        replay::run(&mut bench).await?;
    }
    if is_wanted("waiting") {
        waiting::run(&mut bench).await?;
    }
    if is_wanted("sandbox") {
        Box::pin(sandbox::run(&mut bench, rounds)).await?;
    }
    if is_wanted("egress") {
        Box::pin(egress::run(&mut bench)).await?;
    }
    if is_wanted("agents") {
        Box::pin(agents::run(&mut bench)).await?;
    }
    if is_wanted("journey") {
        Box::pin(journey::run(&mut bench, journey)).await?;
    }
    if is_wanted("growth") {
        Box::pin(journey::growth::run(&mut bench, growth)).await?;
    }
    // A part of the sandboxes, for whoever works on it.
    if only == Some("crowd") {
        Box::pin(sandbox::many(&mut bench)).await?;
    }
    let report = &mut bench.report;
    let took = begun.elapsed().as_secs();
    report.say(format_args!("\nload     {} after; took {took} s", machine::load()))?;
    let (names, promised) = (report.missed().join(", "), report.promised());
    if names.is_empty() {
        report.say(format_args!("All {promised} promised numbers are kept."))?;
        return Ok(ExitCode::SUCCESS);
    }
    report.say(format_args!("MISSED: {names}."))?;
    match misses {
        Misses::Told => Ok(ExitCode::SUCCESS),
        Misses::Fail => Ok(ExitCode::FAILURE),
    }
}
