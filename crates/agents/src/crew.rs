//! A run from its start to its end.
//!
//! ```text
//!  asked before? ── yes ─▶ the first answer
//!     │ no
//!  end what is left of an earlier attempt ─▶ bring memory and files in ─▶ brief ─▶ process ─▶ answer?
//!                                                                           ▲          │ not yet: next process
//!                                                                           └──────────┘
//!  verdict ─▶ keep memory ─▶ write down the outcome ─▶ tell the end
//! ```

use std::{
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use contracts::{
    agent::{
        AgentError, AgentEvent, Agents, Answer, Exchanges, Mode, ModelMeter, Outcome, Run, Words,
    },
    sandbox::{
        CommandName, Ended, Exec, FileAsk, Finished, HOME, Owner, SandboxError, Sandboxes, Streams,
        User, WORKSPACE,
    },
};
use domain::{cost::Cost, id::TaskId, transcript::Ending};
use tokio::sync::mpsc;

use crate::{
    answer,
    brief::{self, Notes, Place, Templates},
    director::Director,
    driver::{Fault, Introduced, Step, Talk},
    inside::{self, Errand},
    journal::{Entry, Journal},
    memory,
    pipe::{Bounds, Pipe},
    process::{converse, drained, grace},
    program::{Endpoint, Launch, Program, Speech, Wish},
    teller::Teller,
    verdict::{self, Facts},
};

/// How long the gateway's last word about a request is waited for.
const SETTLING: Duration = Duration::from_secs(3);

/// How long the gateway may take to tell what the program has heard already.
const REPORTING: Duration = Duration::from_millis(500);

/// How long reading a small file may take.
const READING: Duration = Duration::from_secs(30);

/// Processes of one run: the first, one for a repair, and some for people's words.
const PROCESSES: usize = 16;

/// Works with programs in sandboxes.
#[derive(Debug)]
pub struct Crew<S, R> {
    pub(crate) sandboxes: Arc<S>,
    meter: Arc<dyn Meter>,
    roster: R,
    templates: Arc<Templates>,
    journal: Journal,
    limits: Limits,
    /// The built-in agent's program, to be brought into sandboxes.
    builtin: &'static [u8],
}

/// A meter that can be shown.
pub trait Meter: ModelMeter + std::fmt::Debug {}

impl<M: ModelMeter + std::fmt::Debug> Meter for M {}

/// Who works for whom.
pub trait Roster: Send + Sync + 'static {
    /// The program that works for the run's agent in its mode, and with which model.
    fn post(&self, run: &Run) -> Result<Post, AgentError>;
}

/// A program and what it works with.
#[derive(Debug, Clone)]
pub struct Post {
    pub program: &'static Program,
    /// Empty: the program's own choice.
    pub model: String,
    pub endpoint: Option<Endpoint>,
    /// What is to be started, for programs that do not say it themselves.
    pub command: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long a program may say nothing.
    pub silence: Duration,
    /// Bytes that a process may say.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { silence: Duration::from_mins(20), output: 256 * 1024 * 1024 }
    }
}

/// What a crew is made of.
#[derive(Debug)]
pub struct Parts<S, R> {
    pub sandboxes: Arc<S>,
    pub meter: Arc<dyn Meter>,
    pub roster: R,
    pub templates: Templates,
    /// Where runs and memories are kept.
    pub directory: PathBuf,
    pub limits: Limits,
    pub builtin: &'static [u8],
}

impl<S: Sandboxes, R: Roster> Crew<S, R> {
    pub fn open(parts: Parts<S, R>) -> io::Result<Self> {
        Ok(Self {
            sandboxes: parts.sandboxes,
            meter: parts.meter,
            roster: parts.roster,
            templates: Arc::new(parts.templates),
            journal: Journal::open(parts.directory)?,
            limits: parts.limits,
            builtin: parts.builtin,
        })
    }

    /// A run that a person watches and nobody repeats: it has no entry in the journal, and what the program remembers stays where
    /// it is.
    pub async fn run_once(
        &self,
        run: &Run,
        post: &Post,
        mut words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> Result<Outcome, AgentError> {
        let mut teller = Teller::new(events);
        let mut bench = Bench::new(run, None, &mut words, &mut teller, self.templates.clone());
        let worked = self.work(&mut bench, post).await;
        tell_end(&mut teller, &worked).await;
        worked
    }

    async fn work(&self, bench: &mut Bench<'_>, post: &Post) -> Result<Outcome, AgentError> {
        let run = bench.run;
        self.end_earlier(run, bench.entry.as_ref()).await;
        let known = bench.entry.as_ref().and_then(|entry| entry.session.clone());
        let session = known.or_else(|| run.session.clone());
        let is_carried = bench.entry.is_some() && memory::is_carried(run.mode);
        if session.is_some() && is_carried {
            let restored =
                memory::restore(self.sandboxes.as_ref(), &self.journal, run, post.program).await;
            match restored {
                Ok(()) => {}
                Err(error @ Errand::Sandbox(_)) => return Err(errand(error)),
                // It is told everything again by its brief.
                Err(error @ (Errand::File { .. } | Errand::TooLarge { .. })) => {
                    let text = format!("what it remembers could not be brought back: {error}");
                    bench.teller.tell(AgentEvent::Trouble { text }).await;
                }
            }
        }
        let started = bench.entry.as_ref().map_or(0, |entry| entry.processes);
        let prompt = self.brief(run, post, started).await?;
        bench.teller.briefed(&prompt).await;
        let before = self.meter.exchanges(run.sandbox);
        let answer = self.processes(bench, post, session, prompt).await;
        let used = self.meter.exchanges(run.sandbox).used.since(before.used);
        bench.teller.used(used).await;
        if is_carried {
            let sandboxes = self.sandboxes.as_ref();
            if let Err(why) = memory::keep(sandboxes, &self.journal, run, post.program).await {
                let text = format!("what it remembers could not be kept: {why}");
                bench.teller.tell(AgentEvent::Trouble { text }).await;
            }
        }
        let session = bench.introduced.session.clone();
        Ok(Outcome { answer: answer?, session })
    }

    /// Ends what is left of an earlier attempt: a server that was killed leaves its programs running.
    async fn end_earlier(&self, run: &Run, entry: Option<&Entry>) {
        let Some(entry) = entry.filter(|entry| entry.processes > 0) else { return };
        let name = process_name(run, entry.processes);
        // By a name that runs one is joined to what runs, and takes it along when leaving. By one that has ended nothing
        // happens but this.
        let argv = vec!["true".to_owned()];
        let joined = inside::run(self.sandboxes.as_ref(), run.sandbox, &name, argv, 1024);
        let _left = tokio::time::timeout(Duration::from_millis(500), joined).await;
    }

    /// What the program is told.
    async fn brief(&self, run: &Run, post: &Post, started: u32) -> Result<String, AgentError> {
        // A command that is repeated by its name says nothing a second time.
        let prefix = format!("{}/brief/{started}", run.key);
        let places = places(run);
        let facts = brief::gather(self.sandboxes.as_ref(), run.sandbox, &places, &prefix).await;
        let facts = facts.map_err(|error| errand(Errand::Sandbox(error)))?;
        let pack = brief::pack(&run.brief, &facts);
        if post.program.speech == Speech::Plain {
            return Ok(brief::task(run.mode, &run.brief, &run.directories));
        }
        self.templates.prompt(run.mode, &run.brief, &pack).map_err(|error| AgentError::Stopped {
            reason: error.to_string(),
            last_lines: String::new(),
        })
    }

    /// Process after process, until there is an answer or there will be none.
    async fn processes(
        &self,
        bench: &mut Bench<'_>,
        post: &Post,
        mut session: Option<String>,
        mut prompt: String,
    ) -> Result<Answer, AgentError> {
        let earlier = bench.entry.as_ref().map_or(0, |entry| entry.processes);
        for number in (earlier..).take(PROCESSES).map(|earlier| earlier + 1) {
            self.note(bench, |entry| entry.processes = number)?;
            let name = process_name(bench.run, number);
            let before = &self.meter.exchanges(bench.run.sandbox);
            let ended = self.process(bench, post, session.as_deref(), &prompt, &name).await?;
            let known = bench.introduced.session.clone();
            self.note(bench, |entry| entry.session = known.or(entry.session.take()))?;
            let after = self.settled(bench.run, post.program, before, &ended.step).await;
            let facts = Facts {
                program: post.program,
                finished: ended.finished,
                before,
                after: &after,
                last_lines: ended.last_lines,
                limit: bench.run.limit,
            };
            match verdict::verdict(&facts, ended.step)? {
                Step::Answered(answer) => return Ok(answer),
                Step::Again(next) => prompt = next,
            }
            session.clone_from(&bench.introduced.session);
        }
        Err(AgentError::Stopped {
            reason: format!("it has not answered after {PROCESSES} turns"),
            last_lines: String::new(),
        })
    }

    /// Writes down how far the run is.
    fn note(
        &self,
        bench: &mut Bench<'_>,
        change: impl FnOnce(&mut Entry),
    ) -> Result<(), AgentError> {
        let Some(entry) = &mut bench.entry else { return Ok(()) };
        change(entry);
        self.journal.write(bench.run.key, entry).map_err(busy)
    }

    /// One process, from its start to its end.
    async fn process(
        &self,
        bench: &mut Bench<'_>,
        post: &Post,
        session: Option<&str>,
        prompt: &str,
        name: &CommandName,
    ) -> Result<Process, AgentError> {
        let run = bench.run;
        let wish = Wish {
            mode: run.mode,
            model: &post.model,
            endpoint: post.endpoint.as_ref(),
            session,
            command: post.command.as_deref(),
        };
        let launch = (post.program.launch)(&wish);
        self.furnish(run, post.program, &launch, name).await.map_err(errand)?;
        let directory = beginning(run, post.program);
        let command = self.command(post.program, &launch, directory, bench.left());
        let (to, input) = mpsc::channel(8);
        let (output, said) = mpsc::channel(16);
        let Limits { silence, output: most } = self.limits;
        let mut pipe = Pipe::new(to, said, Bounds { output: most, patience: silence });
        let mut finished = None;
        let entry = bench.entry.clone();
        let noted = |session: &str| {
            // If this cannot be written, a repeat begins anew.
            if let Some(entry) = &entry {
                let mut known = entry.clone();
                known.session = Some(session.to_owned());
                let _ = self.journal.write(run.key, &known);
            }
        };
        let step = {
            let running =
                self.sandboxes.exec(run.sandbox, name, &command, Streams { input, output });
            let mut running = std::pin::pin!(running);
            let step = {
                let mut talk = Talk {
                    pipe: &mut pipe,
                    teller: bench.teller,
                    words: bench.words,
                    director: &mut bench.director,
                    introduced: &mut bench.introduced,
                    program: post.program.name,
                    mode: run.mode,
                    directory,
                    prompt,
                    session,
                    noted: &noted,
                    patience: silence,
                    quiet: Duration::ZERO,
                };
                let talking = converse(&mut talk, post.program.speech);
                let mut talking = std::pin::pin!(talking);
                loop {
                    tokio::select! {
                        biased;
                        step = &mut talking => break step,
                        ended = &mut running, if finished.is_none() => finished = Some(ended),
                    }
                }
            };
            bench.teller.pause().await;
            pipe.hang_up();
            if finished.is_none() {
                // It goes by itself, or it is ended with all that it started.
                let grace = grace(step.as_ref().err());
                finished = tokio::time::timeout(grace, drained(&mut pipe, running)).await.ok();
            }
            step
        };
        let last_lines = pipe.last_lines();
        let step = match step {
            Ok(None) => self.plain_answer(run, finished.as_ref()).await,
            Ok(Some(step)) => Ok(step),
            Err(fault) => Err(fault),
        };
        Ok(Process { step, finished, last_lines })
    }

    /// Puts inside what the program has to find.
    async fn furnish(
        &self,
        run: &Run,
        program: &Program,
        launch: &Launch,
        process: &CommandName,
    ) -> Result<(), Errand> {
        let sandboxes = self.sandboxes.as_ref();
        if program.speech == Speech::Plain {
            // What an earlier run answered is not this one's answer.
            let name = CommandName::new(format!("{process}/clear"));
            let old = format!("{HOME}/{}", crate::program::ANSWER);
            let argv = ["rm", "-f", &old].map(str::to_owned).to_vec();
            inside::run(sandboxes, run.sandbox, &name, argv, 1024).await?;
        }
        for file in &launch.files {
            let path = format!("{HOME}/{}", file.path);
            let bytes = file.text.as_bytes();
            inside::write(sandboxes, run.sandbox, process, &path, bytes, 0o600).await?;
        }
        if program.is_brought() {
            let path = launch.argv.first().cloned().unwrap_or_default();
            inside::write(sandboxes, run.sandbox, process, &path, self.builtin, 0o755).await?;
        }
        Ok(())
    }

    fn command(
        &self,
        program: &Program,
        launch: &Launch,
        directory: &str,
        limit: Duration,
    ) -> Exec {
        let mut environment = inside::environment();
        environment.extend(launch.environment.clone());
        Exec {
            argv: launch.argv.clone(),
            environment,
            path: program.path(),
            sweeps: true,
            directory: directory.to_owned(),
            user: User::Agent,
            terminal: None,
            limit,
            output_limit: self.limits.output,
        }
    }

    /// The answer of a program that writes it into a file.
    async fn plain_answer(
        &self,
        run: &Run,
        finished: Option<&Result<Finished, SandboxError>>,
    ) -> Result<Step, Fault> {
        let path = format!("{HOME}/{}", crate::program::ANSWER);
        let ask = FileAsk::Read { path, user: User::Agent };
        let fetching = inside::fetch(self.sandboxes.as_ref(), run.sandbox, &ask, answer::LIMIT);
        // What stands there may be a pipe that nobody writes to.
        let patience = self.limits.silence.min(READING);
        let Ok(read) = tokio::time::timeout(patience, fetching).await else {
            return Err(Fault::Protocol("it wrote no answer that can be read".to_owned()));
        };
        match (run.mode, read) {
            (_, Ok(bytes)) => answer::read_plain(run.mode, &String::from_utf8_lossy(&bytes))
                .map(Step::Answered)
                .map_err(Fault::Unusable),
            // There is none, and none is needed.
            (Mode::Implement, Err(error)) if error.is_not_there() => {
                Ok(Step::Answered(Answer::Change))
            }
            // How it ended says more than that a file is missing.
            (Mode::Research | Mode::Plan | Mode::Review, Err(error)) if error.is_not_there() => {
                Err(Fault::Protocol(unanswered(finished)))
            }
            (Mode::Implement | Mode::Research | Mode::Plan | Mode::Review, Err(error)) => {
                Err(Fault::Protocol(format!("it wrote no answer to $LAMP_ANSWER: {error}")))
            }
        }
    }

    /// What the meter has seen, once nothing is under way any more that was not before.
    async fn settled(
        &self,
        run: &Run,
        program: &Program,
        before: &Exchanges,
        said: &Result<Step, Fault>,
    ) -> Exchanges {
        let (soon, end) = (Instant::now() + REPORTING, Instant::now() + SETTLING);
        loop {
            let seen = self.meter.exchanges(run.sandbox);
            let is_told = verdict::is_told(program, before, &seen, said) || Instant::now() > soon;
            if (seen.under_way <= before.under_way && is_told) || Instant::now() > end {
                return seen;
            }
            let moment = Duration::from_millis(20);
            let _passed = tokio::time::timeout(moment, std::future::pending::<()>()).await;
        }
    }
}

impl<S: Sandboxes, R: Roster> Agents for Crew<S, R> {
    async fn run(
        &self,
        run: &Run,
        mut words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> Result<Outcome, AgentError> {
        let entry = self.journal.entry(run.key).map_err(busy)?;
        if let Some(outcome) = entry.outcome() {
            return Ok(outcome);
        }
        let post = self.roster.post(run)?;
        let mut teller = Teller::new(events);
        let mut bench =
            Bench::new(run, Some(entry), &mut words, &mut teller, self.templates.clone());
        let worked = Box::pin(self.work(&mut bench, &post)).await;
        if let Ok(outcome) = &worked {
            self.note(&mut bench, |entry| entry.finish(outcome))?;
        }
        tell_end(&mut teller, &worked).await;
        worked
    }

    async fn bill(&self, task: TaskId) -> Result<Cost, AgentError> {
        Ok(self.meter.used_by(&Owner::Task(task)))
    }
}

/// What belongs to one run while it goes on.
struct Bench<'a> {
    run: &'a Run,
    /// None where nobody will ask again.
    entry: Option<Entry>,
    words: &'a mut mpsc::Receiver<Words>,
    teller: &'a mut Teller,
    director: Director,
    introduced: Introduced,
    end: Instant,
}

impl<'a> Bench<'a> {
    fn new(
        run: &'a Run,
        entry: Option<Entry>,
        words: &'a mut mpsc::Receiver<Words>,
        teller: &'a mut Teller,
        templates: Arc<Templates>,
    ) -> Self {
        Self {
            run,
            entry,
            words,
            teller,
            director: Director::new(run.mode, templates),
            introduced: Introduced::default(),
            end: Instant::now() + run.limit,
        }
    }

    /// How long a process may still take. One that begins too late ends at once, and says why.
    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }
}

async fn tell_end(teller: &mut Teller, worked: &Result<Outcome, AgentError>) {
    let ending = match worked {
        Ok(Outcome { answer: Answer::Question { text, choices }, .. }) => {
            let (text, choices) = (text.clone(), choices.clone());
            teller.tell(AgentEvent::Question { text, choices }).await;
            Ending::Asked
        }
        Ok(_) => Ending::Answered,
        Err(error) => Ending::Stopped { reason: error.to_string() },
    };
    teller.tell(AgentEvent::Finished { ending }).await;
}

/// How a process ended.
struct Process {
    step: Result<Step, Fault>,
    finished: Option<Result<Finished, SandboxError>>,
    last_lines: String,
}

/// Where the brief looks for what repositories say about themselves. The first one may be at the task's own change.
fn places(run: &Run) -> Vec<Place<'_>> {
    let changed = match (run.mode, &run.base) {
        (Mode::Research | Mode::Plan | Mode::Implement | Mode::Review, Some(base)) => {
            Notes::Before(base)
        }
        (Mode::Research | Mode::Plan | Mode::Implement, None) => Notes::CheckedOut,
        (Mode::Review, None) => Notes::Untold,
    };
    let notes = std::iter::once(changed).chain(std::iter::repeat(Notes::CheckedOut));
    let places = run.directories.iter().zip(notes);
    places.map(|(directory, notes)| Place { directory, notes }).collect()
}

/// Why a program that writes its answer into a file has written none.
fn unanswered(finished: Option<&Result<Finished, SandboxError>>) -> String {
    match finished {
        Some(Ok(Finished { ending: Ended::Exited(code), .. })) if *code != 0 => {
            format!("it ended with exit code {code}, and wrote no answer to $LAMP_ANSWER")
        }
        Some(_) | None => "it wrote no answer to $LAMP_ANSWER".to_owned(),
    }
}

/// Where the program begins. One that reviews begins beside the repositories: programs take settings, hooks and servers from the
/// directory that they begin in and from those above it, and here that would be the change that is to be reviewed. A script takes none.
fn beginning<'r>(run: &'r Run, program: &Program) -> &'r str {
    let first = run.directories.first().map_or(WORKSPACE, String::as_str);
    match (run.mode, program.speech) {
        (Mode::Research | Mode::Plan | Mode::Implement, _) | (Mode::Review, Speech::Plain) => first,
        (Mode::Review, Speech::Acp | Speech::ClaudeStream | Speech::Lines(_)) => WORKSPACE,
    }
}

fn process_name(run: &Run, number: u32) -> CommandName {
    CommandName::new(format!("{}/{number}", run.key))
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: io::Error) -> AgentError {
    AgentError::Busy { reason: error.to_string() }
}

fn errand(error: Errand) -> AgentError {
    match error {
        Errand::Sandbox(
            error @ (SandboxError::NotFound { .. }
            | SandboxError::Destroyed { .. }
            | SandboxError::Resting { .. }
            | SandboxError::Lost { .. }),
        ) => AgentError::SandboxLost { reason: error.to_string() },
        Errand::Sandbox(error @ (SandboxError::Busy { .. } | SandboxError::NoRoom { .. })) => {
            AgentError::Busy { reason: error.to_string() }
        }
        error @ (Errand::Sandbox(_) | Errand::File { .. } | Errand::TooLarge { .. }) => {
            AgentError::Stopped { reason: error.to_string(), last_lines: String::new() }
        }
    }
}

#[cfg(test)]
#[path = "crew_tests.rs"]
mod tests;
