//! One turn: ask the model, run what it calls, tell it what came of it, until it has nothing more to do.
//!
//! ```text
//!        ┌──────────────────────────────────────────────┐
//!  prompt ─▶ compact? ─▶ ask ─▶ say what it said ─▶ run its calls
//!                          │            │                 └─ a question: the turn ends with it
//!                          │            └─ no calls: the turn ends
//!                          └─ a failure that stays: the turn fails, with a kind
//! ```
//!
//! **Invariant:** the turn ends: by the model, by the number of steps, by going in circles, by a stop, or by a failure. What was said stays in
//! the session, with a result for each call, whatever ended it.

mod watch;

use serde_json::Value;

use self::watch::{Verdict, Watch};
use crate::{
    compaction::{SUMMARISE, Split},
    conversation::{Call, CallResult, Entry, Said, bytes_of, tokens_of, unfinished},
    memory::MemoryError,
    model::{AnswerEnd, AskError, Failure, Model, Question, Usage},
    session::Session,
    settings::Settings,
    stop::{Stop, Stopped},
    tools::{Offer, Outcome, Task, Toolbox, ask, offer},
    updates::Updates,
};

/// How a turn ended, in the protocol's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    EndTurn,
    MaxTokens,
    MaxSteps,
    Refusal,
    Cancelled,
}

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error(transparent)]
    Model(#[from] Failure),
    #[error("the model goes in circles: {0}")]
    Stuck(String),
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Why a turn does not go on.
enum Halt {
    Ended(TurnEnd),
    Failed(TurnError),
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Self {
        Self::Ended(TurnEnd::Cancelled)
    }
}

impl From<MemoryError> for Halt {
    fn from(error: MemoryError) -> Self {
        Self::Failed(error.into())
    }
}

/// The most that goes back to the model of one call, and of all calls of one answer.
const LARGEST_RESULT: usize = 32 << 10;
const LARGEST_RESULTS: usize = 96 << 10;
const SMALLEST_RESULT: usize = 512;
const SUMMARY_TOKENS: u64 = 2048;

/// All that a turn works with.
pub struct Turn<'a> {
    settings: &'a Settings,
    model: &'a Model,
    session: &'a mut Session,
    updates: &'a Updates,
    stop: &'a Stop,
    toolbox: Toolbox,
    offers: Vec<Offer>,
    system: String,
    watch: Watch,
    usage: Usage,
    /// The model said once that there is too much; twice is a failure.
    was_too_long: bool,
}

impl<'a> Turn<'a> {
    pub fn new(
        settings: &'a Settings,
        model: &'a Model,
        session: &'a mut Session,
        updates: &'a Updates,
        stop: &'a Stop,
    ) -> Self {
        let toolbox = Toolbox { root: session.cwd.clone(), mode: settings.mode };
        let offers = offer::all(settings.mode);
        let system = system(settings, session);
        let (watch, usage, was_too_long) = (Watch::default(), Usage::default(), false);
        Self {
            settings,
            model,
            session,
            updates,
            stop,
            toolbox,
            offers,
            system,
            watch,
            usage,
            was_too_long,
        }
    }

    /// Runs it to its end. What it used is told in any case.
    pub fn run(mut self, prompt: String) -> (Result<TurnEnd, TurnError>, Usage) {
        let ended = match self.steps(prompt) {
            Halt::Ended(end) => Ok(end),
            Halt::Failed(error) => Err(error),
        };
        (ended, self.usage)
    }

    fn steps(&mut self, prompt: String) -> Halt {
        if let Err(error) = self.session.say(Entry::User(prompt)) {
            return error.into();
        }
        for _ in 0..self.settings.max_steps {
            if let Err(halt) = self.step() {
                return halt;
            }
        }
        Halt::Ended(TurnEnd::MaxSteps)
    }

    fn step(&mut self) -> Result<(), Halt> {
        if self.updates.is_broken() {
            return Err(Stopped.into());
        }
        if self.is_nearly_full() {
            self.compact()?;
        }
        let question = Question {
            system: &self.system,
            entries: self.session.context(),
            tools: &self.offers,
            max_output_tokens: self.settings.max_output_tokens,
        };
        let mut answer = match self.model.ask(&question, self.stop) {
            Ok(answer) => answer,
            Err(AskError::Stopped(stopped)) => return Err(stopped.into()),
            Err(AskError::Failed(failure)) if failure.is_too_long() && !self.was_too_long => {
                self.was_too_long = true;
                return self.compact();
            }
            Err(AskError::Failed(failure)) => return Err(Halt::Failed(failure.into())),
        };
        self.took(&answer.usage)?;
        match answer.end {
            AnswerEnd::Whole => {}
            AnswerEnd::Refusal => {
                self.updates.message(&answer.said.text);
                return Err(Halt::Ended(TurnEnd::Refusal));
            }
            AnswerEnd::MalformedCall => return self.malformed(),
            AnswerEnd::MaxTokens => {
                // Calls that were cut off mean nothing.
                answer.said.calls.clear();
                self.heard(answer.said)?;
                return Err(Halt::Ended(TurnEnd::MaxTokens));
            }
        }
        self.session.name_calls(&mut answer.said);
        let calls = answer.said.calls.clone();
        self.heard(answer.said)?;
        if calls.is_empty() {
            return Err(Halt::Ended(TurnEnd::EndTurn));
        }
        self.run_calls(&calls)
    }

    /// Tells what the model said, and notes it.
    fn heard(&mut self, said: Said) -> Result<(), Halt> {
        for thought in &said.thoughts {
            self.updates.thought(thought.text());
        }
        self.updates.message(&said.text);
        if !said.is_empty() {
            self.session.say(Entry::Assistant(said))?;
        }
        Ok(())
    }

    fn malformed(&mut self) -> Result<(), Halt> {
        match self.watch.misunderstood(None) {
            Verdict::Stuck(why) => Err(Halt::Failed(TurnError::Stuck(why))),
            Verdict::Fine | Verdict::Tell(_) => {
                let note = "[Your last call could not be read. Call the tool again, with arguments as its schema says.]";
                Ok(self.session.say(Entry::User(note.to_owned()))?)
            }
        }
    }

    /// Runs all calls of one answer, one after the other. Each has a result in the end.
    fn run_calls(&mut self, calls: &[Call]) -> Result<(), Halt> {
        let all = bytes_of(self.room() / 4).min(LARGEST_RESULTS);
        let most = (all / calls.len().max(1)).clamp(SMALLEST_RESULT, LARGEST_RESULT);
        let mut results: Vec<CallResult> = Vec::new();
        let mut halt = None;
        let mut question = None;
        for call in calls {
            if halt.is_some() {
                results.push(unfinished(call, "this was not run any more"));
                continue;
            }
            match self.run_call(call, most) {
                Ok((outcome, asked)) => {
                    let (id, name) = (call.id.clone(), call.name.clone());
                    results.push(CallResult { id, name, text: outcome.text, end: outcome.end });
                    question = question.or(asked);
                }
                Err(why) => {
                    results.push(unfinished(call, "this was interrupted"));
                    halt = Some(why);
                }
            }
        }
        self.session.say(Entry::Results(results))?;
        match (halt, question) {
            (Some(halt), _) => Err(halt),
            (None, Some(question)) => {
                self.updates.message(&question.block());
                Err(Halt::Ended(TurnEnd::EndTurn))
            }
            (None, None) => Ok(()),
        }
    }

    fn run_call(
        &mut self,
        call: &Call,
        most: usize,
    ) -> Result<(Outcome, Option<ask::Question>), Halt> {
        self.updates.call_begins(call, &self.toolbox);
        let mut asked = None;
        let (mut outcome, verdict) = match self.toolbox.understand(call) {
            Err(why) => (Outcome::failed(why), self.watch.misunderstood(Some(call))),
            Ok(task) => {
                let outcome = match self.toolbox.run(&task, most, self.stop) {
                    Ok(outcome) => outcome,
                    Err(stopped) => {
                        self.updates.call_ends(call, &Outcome::failed("cancelled"));
                        return Err(stopped.into());
                    }
                };
                match task {
                    Task::Plan(plan) => self.updates.plan(&plan),
                    Task::Ask(question) => asked = Some(question),
                    Task::Shell(_) | Task::Read(_) | Task::Edit(_) | Task::Search(_) => {}
                }
                let verdict = self.watch.ran(call, &outcome);
                (outcome, verdict)
            }
        };
        self.updates.call_ends(call, &outcome);
        match verdict {
            Verdict::Fine => {}
            Verdict::Tell(note) => outcome.text.push_str(&note),
            Verdict::Stuck(why) => return Err(Halt::Failed(TurnError::Stuck(why))),
        }
        Ok((outcome, asked))
    }

    fn took(&mut self, usage: &Usage) -> Result<(), Halt> {
        self.usage.add(usage);
        self.session.took(usage)?;
        let used = self.session.tokens(self.overhead());
        let size = self.settings.context_tokens;
        self.updates.usage(used, size, &self.usage, &self.session.usage);
        Ok(())
    }

    /// What is said with every question, besides the conversation.
    fn overhead(&self) -> u64 {
        let tools = self.offers.iter().map(|offer| {
            tokens_of(offer.about) + tokens_of(&offer.schema.to_string()) + tokens_of(offer.name)
        });
        tokens_of(&self.system) + tools.sum::<u64>()
    }

    /// How many tokens the conversation may have.
    fn room(&self) -> u64 {
        let beside = self.overhead() + self.settings.max_output_tokens;
        self.settings.context_tokens.saturating_sub(beside).max(1024)
    }

    fn is_nearly_full(&self) -> bool {
        let overhead = self.overhead();
        self.session.tokens(overhead).saturating_sub(overhead) > self.room() * 9 / 10
    }

    /// Makes the conversation shorter: by a summary of the model, or without.
    fn compact(&mut self) -> Result<(), Halt> {
        let room = self.room();
        let split = Split::new(self.session.context(), room);
        let mut summary = split.note();
        if !split.older.is_empty() {
            let record = [Entry::User(split.record(room / 2))];
            let question = Question {
                system: SUMMARISE,
                entries: &record,
                tools: &[],
                max_output_tokens: SUMMARY_TOKENS.min(self.settings.max_output_tokens),
            };
            match self.model.ask(&question, self.stop) {
                Ok(answer) => {
                    self.usage.add(&answer.usage);
                    self.session.took(&answer.usage)?;
                    if !answer.said.text.trim().is_empty() {
                        summary = answer.said.text;
                    }
                }
                Err(AskError::Stopped(stopped)) => return Err(stopped.into()),
                // What is wrong with the model shows in the next question, if it stays wrong.
                Err(AskError::Failed(_)) => {}
            }
        }
        self.updates.thought("Older steps of this conversation are now a summary.");
        Ok(self.session.compact(split.join(&summary, room))?)
    }
}

impl std::fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("session", &self.session.id).finish_non_exhaustive()
    }
}

fn system(settings: &Settings, session: &Session) -> String {
    let task = if settings.mode.may_edit() {
        "You may change files of the tree."
    } else {
        "You only look: the tree cannot be changed. Answer in your last message."
    };
    let name = Value::from(session.cwd.to_string_lossy());
    let mode = settings.mode.name();
    format!(
        "{}\nThe tree is at {name}. The mode is `{mode}`: {task}\n",
        include_str!("../prompt.md")
    )
}
