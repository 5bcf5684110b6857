//! Records what a real program says, with our own drivers at the other end. `scripts/record-transcripts` calls it.
//!
//! ```text
//!  record programs                                   those that are recorded
//!  record packages PROGRAM                           what it is made of: a name and a version in each line
//!  record directory PROGRAM                          how the directory of its transcripts is called
//!  record run PROGRAM URL SHELF SCRATCH INTO         plays every scenario, and writes one file for each
//! ```
//!
//! The program is started by [`agents::Crew`] itself, with its own launch, and told the same brief as in a sandbox. Only the
//! sandbox is another one ([`host`]): the program is a process on this host, with a home and a workspace in `SCRATCH`. So nothing about flags,
//! files or messages is said twice.

mod host;
mod scenario;
mod tidy;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agents::{
    Crew, Endpoint, Format, Limits, Parts, Post, Program, Roster, brief::Templates, program::ALL,
};
use anyhow::{Context as _, bail};
use contracts::{
    Key,
    agent::{AgentError, AgentEvent, Brief, Exchanges, ModelMeter, Run, Words},
    sandbox::Owner,
};
use domain::{
    cost::Cost,
    id::{SandboxId, TaskId},
    money::Money,
    transcript::ToolStatus,
};
use host::{Host, Places};
use scenario::{Interruption, SCENARIOS, Scenario};
use tidy::Tidy;
use tokio::sync::mpsc;

/// The model that is asked. No program knows it, so none has opinions about it.
const MODEL: &str = "scripted-model";

/// The shelf's directory with the runtime that the programs need.
const RUNTIME: &str = "node_24";

/// Longer than any program takes to give up on a model that refuses.
const LIMIT: Duration = Duration::from_mins(4);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words.as_slice() {
        ["programs"] => {
            for program in ALL.into_iter().filter(|program| !program.packages.is_empty()) {
                writeln!(std::io::stdout(), "{}", program.name)?;
            }
            Ok(())
        }
        ["packages", name] => {
            for package in program(name)?.packages {
                writeln!(std::io::stdout(), "{} {}", package.name, package.version)?;
            }
            Ok(())
        }
        ["directory", name] => {
            writeln!(std::io::stdout(), "{}", directory(program(name)?))?;
            Ok(())
        }
        ["run", name, url, shelf, scratch, into] => {
            let studio = Studio {
                program: program(name)?,
                url: url.to_owned(),
                shelf: PathBuf::from(shelf),
                scratch: PathBuf::from(scratch),
            };
            studio.record(Path::new(into)).await
        }
        _ => bail!(
            "usage: record programs, or record packages|directory PROGRAM, or record run PROGRAM URL SHELF SCRATCH INTO"
        ),
    }
}

fn program(name: &str) -> anyhow::Result<&'static Program> {
    Program::named(name).with_context(|| format!("there is no program `{name}`"))
}

/// With all its versions, so that whoever raises one has to record again.
fn directory(program: &Program) -> String {
    let versions: Vec<&str> = program.packages.iter().map(|package| package.version).collect();
    format!("{}-{}", program.name, versions.join("+"))
}

/// Where one program is recorded.
struct Studio {
    program: &'static Program,
    url: String,
    shelf: PathBuf,
    scratch: PathBuf,
}

impl Studio {
    async fn record(&self, into: &Path) -> anyhow::Result<()> {
        fs_err::create_dir_all(into)?;
        for scenario in SCENARIOS {
            if fs_err::exists(&self.scratch)? {
                fs_err::remove_dir_all(&self.scratch)?;
            }
            let lines = self.play(scenario).await?;
            let path = into.join(format!("{}.jsonl", scenario.name));
            writeln!(std::io::stderr(), "{}: {} lines", path.display(), lines.len())?;
            fs_err::write(&path, lines.join("\n") + "\n")?;
        }
        fs_err::remove_dir_all(&self.scratch)?;
        Ok(())
    }

    /// All turns of a scenario, of which the last is kept.
    async fn play(&self, scenario: &Scenario) -> anyhow::Result<Vec<String>> {
        let mut session = None;
        let mut lines = Vec::new();
        for (number, turn) in (0..).zip(scenario.turns) {
            let task = TaskId::from_u128(number);
            let key = Key { task, seq: 0, part: "agent", number: 0 };
            let places = Places::new(&self.scratch, &self.shelf)?;
            let host = Arc::new(Host::new(places, self.path()?, key.to_string()));
            let run = Run {
                key,
                task,
                sandbox: SandboxId::from_u128(0),
                agent: "recorder".parse()?,
                mode: scenario.mode,
                directories: vec![host::DIRECTORY.to_owned()],
                base: None,
                brief: Brief { request: turn.text(), author: "ann".to_owned(), ..Brief::default() },
                session: session.take(),
                limit: LIMIT,
                budget: Money::ZERO,
            };
            session = self.turn(&host, &run, scenario).await?;
            let mut tidy = Tidy::new(&self.url)?;
            lines = host.heard().iter().map(|line| tidy.line(line)).collect();
        }
        Ok(lines)
    }

    /// One run, and what the program calls its memory.
    async fn turn(
        &self,
        host: &Arc<Host>,
        run: &Run,
        scenario: &Scenario,
    ) -> anyhow::Result<Option<String>> {
        let crew = Crew::open(Parts {
            sandboxes: Arc::clone(host),
            meter: Arc::new(Generous::default()),
            roster: Nobody,
            templates: Templates::builtin()?,
            directory: self.scratch.join("journal"),
            limits: Limits::default(),
            builtin: &[],
        })?;
        let post = Post {
            program: self.program,
            model: MODEL.to_owned(),
            endpoint: self.endpoint(),
            command: None,
        };
        let (say, words) = mpsc::channel(1);
        let (tell, mut told) = mpsc::channel(16);
        let mut waiting = scenario.words;
        let mut session = None;
        let listening = async {
            while let Some(event) = told.recv().await {
                match event {
                    AgentEvent::Started { session: name, .. } => session = name,
                    AgentEvent::ToolCall(call) if call.status == ToolStatus::Running => {
                        let input = call.input.unwrap_or_default();
                        let has_begun = |it: &Interruption| {
                            call.title.contains(it.cue) || input.contains(it.cue)
                        };
                        if let Some(interruption) = waiting.take_if(|it| has_begun(it)) {
                            say.send(Words(interruption.words.to_owned())).await.ok();
                        }
                    }
                    AgentEvent::Briefed { .. }
                    | AgentEvent::Message { .. }
                    | AgentEvent::Thought { .. }
                    | AgentEvent::ToolCall(_)
                    | AgentEvent::FileChanged { .. }
                    | AgentEvent::Todo { .. }
                    | AgentEvent::Permission { .. }
                    | AgentEvent::Question { .. }
                    | AgentEvent::Heard { .. }
                    | AgentEvent::Usage(_)
                    | AgentEvent::Trouble { .. }
                    | AgentEvent::Finished { .. } => {}
                }
            }
        };
        let (outcome, ()) = tokio::join!(crew.run_once(run, &post, words, tell), listening);
        let came = match outcome {
            Ok(outcome) => format!("{:?}", outcome.answer),
            Err(error) => error.to_string(),
        };
        writeln!(std::io::stderr(), "{} {}: {came}", self.program.name, scenario.name)?;
        Ok(session)
    }

    /// Where the model is, as the program's file wants it.
    fn endpoint(&self) -> Option<Endpoint> {
        let format = *self.program.formats.first()?;
        let url = match format {
            Format::OpenAiChat | Format::OpenAiResponses => format!("{}/v1", self.url),
            Format::AnthropicMessages | Format::Gemini => self.url.clone(),
        };
        Some(Endpoint { format, url })
    }

    /// The directories in which the program and its runtime are found on this host.
    fn path(&self) -> anyhow::Result<String> {
        let mut path = Vec::new();
        let packages = self.program.packages.iter();
        let names =
            packages.map(|it| format!("{}_{}", it.name, it.version).replace(['@', '/'], "_"));
        for name in [RUNTIME.to_owned()].into_iter().chain(names) {
            let directory = self.shelf.join(name).join("node_modules/.bin");
            if !fs_err::exists(&directory)? {
                bail!(
                    "`{}` is not there: `scripts/record-transcripts` installs it",
                    directory.display()
                );
            }
            path.push(directory.display().to_string());
        }
        Ok(path.join(":"))
    }
}

/// Has always seen one more answer, so that what is recorded does not depend on a meter.
#[derive(Debug, Default)]
struct Generous(AtomicU64);

impl ModelMeter for Generous {
    fn used_by(&self, _owner: &Owner) -> Cost {
        Cost::ZERO
    }

    fn exchanges(&self, _sandbox: SandboxId) -> Exchanges {
        Exchanges { answered: self.0.fetch_add(1, Ordering::Relaxed), ..Exchanges::default() }
    }
}

/// Whoever works is named with each run.
struct Nobody;

impl Roster for Nobody {
    fn post(&self, _run: &Run) -> Result<Post, AgentError> {
        Err(AgentError::Busy { reason: "a recorder has no roster".to_owned() })
    }
}
