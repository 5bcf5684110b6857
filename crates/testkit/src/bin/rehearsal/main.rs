//! `make demo`: the story of one task, played on the real engine and store before a scripted outside.
//!
//! ```text
//!  this process: the people ──── ask, approve ────┐            ┌──── another process: the engine
//!       (story, person)                           ▼            ▼     (killed once, started again)
//!       (teller) ◀──────── reads the events ─── one SQLite file ───▶ scripted sandbox, agent, forge
//! ```
//!
//! It is honest: what is scripted is said to be, the kill is a real SIGKILL, and the verdict at the
//! end is counted, not claimed.

mod engine_process;
mod paper;
mod person;
mod plan;
mod story;
mod teller;
mod timeline;

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use crate::{
    engine_process::Mishap,
    paper::{Colour, Paper},
    person::Person,
};

const HELP: &str = "\
Plays the story of one task: the engine, the store, the rules and the gate are real; the sandbox, the
agent and the forge are scripted.

Usage: rehearsal [--yes]

  --yes   answer and approve by itself, as it does when nobody is at the terminal";

/// What was asked for.
enum Wanted {
    Story {
        person: Person,
    },
    /// Be the engine; the story starts this program a second time for it.
    Engine {
        directory: PathBuf,
        mishap: Mishap,
    },
    Help,
}

fn main() -> ExitCode {
    let played = match wanted(std::env::args().skip(1)) {
        Ok(Wanted::Help) => writeln!(io::stdout(), "{HELP}").map_err(Into::into),
        Ok(Wanted::Engine { directory, mishap }) => engine_process::be(&directory, mishap),
        Ok(Wanted::Story { person }) => tell(person),
        Err(problem) => {
            complain(&problem);
            return ExitCode::from(2);
        }
    };
    match played {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read has read enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn tell(person: Person) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(story::play(Paper::new(colour()), person))
}

fn wanted(arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let arguments: Vec<String> = arguments.collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] if io::stdin().is_terminal() => Ok(Wanted::Story { person: Person::AtTheTerminal }),
        [] => Ok(Wanted::Story { person: Person::Nobody }),
        ["--yes"] => Ok(Wanted::Story { person: Person::SaysYes }),
        ["--help" | "-h"] => Ok(Wanted::Help),
        [engine_process::ARGUMENT, directory, mishap] => {
            let mishap = Mishap::parse(mishap).ok_or("there is no such mishap")?;
            Ok(Wanted::Engine { directory: directory.into(), mishap })
        }
        [first, ..] => Err(format!("`{first}` is not understood here; try `--help`")),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the edge where the environment is read")]
fn colour() -> Colour {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb {
        Colour::Used
    } else {
        Colour::Unused
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe)
    })
}

fn complain(problem: &str) {
    // Without stderr there is nobody to complain to.
    drop(writeln!(io::stderr(), "rehearsal: {problem}"));
}
