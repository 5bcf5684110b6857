//! What the model may do: `shell`, `read`, `edit`, `search`, `plan`, `ask`.
//!
//! | module | what it does |
//! |---|---|
//! | [`offer`] | what the model is told about the tools |
//! | `shell`, [`processes`] | a command, with a limit in time and output; all that it started |
//! | `read`, `search` | looking |
//! | `edit`, `place` | changing a file; which file is meant |
//! | [`todo`], [`ask`] | what is to be done; a question to a person |
//!
//! **Invariant:** a tool always comes back, and what it gives back is never larger than the limit that it was given. What is wrong with a call is
//! told to the model in a sentence that it can act on; only a stop ends the turn.

pub mod ask;
mod edit;
pub mod offer;
mod place;
pub mod processes;
mod read;
mod search;
mod shell;
pub mod todo;

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use self::offer::Offer;
use crate::{
    conversation::{Arguments, Call, End},
    cut,
    settings::Mode,
    stop::{Stop, Stopped},
};

/// Where and how tools work in one session.
#[derive(Debug, Clone)]
pub struct Toolbox {
    /// Where the tree is.
    pub root: PathBuf,
    pub mode: Mode,
}

/// A call whose arguments were understood.
#[derive(Debug)]
pub enum Task {
    Shell(shell::Wish),
    Read(read::Wish),
    Edit(edit::Wish),
    Search(search::Wish),
    Plan(todo::Plan),
    Ask(ask::Question),
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub text: String,
    pub end: End,
    /// For a command that ran.
    pub exit_code: Option<i32>,
    pub change: Option<Change>,
}

/// A file that was changed, as far as the client shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: String,
}

impl Outcome {
    fn done(text: String) -> Self {
        Self { text, end: End::Done, exit_code: None, change: None }
    }

    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), end: End::Failed, exit_code: None, change: None }
    }

    /// Whether it went wrong, by the tool or by the command that it ran.
    pub fn is_failing(&self) -> bool {
        self.end == End::Failed || self.exit_code.is_some_and(|code| code != 0)
    }
}

impl Toolbox {
    /// Understands a call, or says what is wrong with it.
    pub fn understand(&self, call: &Call) -> Result<Task, String> {
        let arguments = match &call.arguments {
            Arguments::Object(value) => value,
            Arguments::Malformed(why) => {
                return Err(format!("the arguments of `{}` cannot be used: {why}", call.name));
            }
        };
        match call.name.as_str() {
            "shell" => parsed(call, arguments).map(Task::Shell),
            "read" => parsed(call, arguments).map(Task::Read),
            "edit" if self.mode.may_edit() => parsed(call, arguments).map(Task::Edit),
            "edit" => Err(format!("there is no `edit` in mode `{}`", self.mode.name())),
            "search" => parsed(call, arguments).map(Task::Search),
            "plan" => parsed(call, arguments).and_then(todo::Plan::check).map(Task::Plan),
            "ask" => parsed(call, arguments).and_then(ask::Question::check).map(Task::Ask),
            other => {
                let names: Vec<&str> = offer::all(self.mode).iter().map(|it| it.name).collect();
                let other = cut::line(other, 100);
                Err(format!("there is no tool `{other}`; there are {}", names.join(", ")))
            }
        }
    }

    /// Does it. The text that comes back has at most about `most` bytes.
    pub fn run(&self, task: &Task, most: usize, stop: &Stop) -> Result<Outcome, Stopped> {
        stop.check()?;
        let outcome = match task {
            Task::Shell(wish) => shell::run(wish, &self.root, most, stop)?,
            Task::Read(wish) => read::run(wish, &self.root, most),
            Task::Edit(wish) => edit::run(wish, &self.root),
            Task::Search(wish) => search::run(wish, &self.root, most, stop)?,
            Task::Plan(_) => Outcome::done("The plan is noted.".to_owned()),
            Task::Ask(_) => Outcome::done(
                "The question is put to a person. The answer is the next message.".to_owned(),
            ),
        };
        Ok(Outcome { text: cut::middle(&outcome.text, most), ..outcome })
    }
}

fn parsed<T: DeserializeOwned>(call: &Call, arguments: &Value) -> Result<T, String> {
    serde_json::from_value(arguments.clone()).map_err(|error| {
        let error = cut::line(&error.to_string(), 300);
        format!("the arguments of `{}` cannot be used: {error}", call.name)
    })
}

/// How a client shows a call: its title, what kind of work it is, and where.
pub fn shown(call: &Call, toolbox: &Toolbox) -> (String, &'static str, Vec<PathBuf>) {
    let arguments = call.arguments.object();
    let word = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or("");
    let at = || place::meant(&toolbox.root, word("path")).into_iter().collect();
    let (title, kind, places) = match call.name.as_str() {
        "shell" => (word("command").to_owned(), "execute", Vec::new()),
        "read" => (format!("read {}", word("path")), "read", at()),
        "edit" => (format!("edit {}", word("path")), "edit", at()),
        "search" => (format!("search {}", word("pattern")), "search", Vec::new()),
        "plan" => ("plan".to_owned(), "think", Vec::new()),
        "ask" => ("ask a question".to_owned(), "other", Vec::new()),
        other => (other.to_owned(), "other", Vec::new()),
    };
    (cut::line(&title, 200), kind, places)
}

/// What a client is told of the arguments: all, unless they are large.
pub fn raw_input(call: &Call) -> Value {
    const MOST: usize = 16 << 10;
    let cut_values = |(key, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let value =
            if text.len() <= MOST { value.clone() } else { cut::middle(&text, MOST).into() };
        (cut::line(key, 100), value)
    };
    match &call.arguments {
        Arguments::Object(Value::Object(object)) => {
            Value::Object(object.iter().take(20).map(cut_values).collect())
        }
        Arguments::Object(_) | Arguments::Malformed(_) => json!({}),
    }
}
