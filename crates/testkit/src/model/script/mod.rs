//! What the model does, step by step: one step is one answer.
//!
//! A script is written as directives, in the prompt itself or beside it:
//!
//! ```text
//! Fix the sum. play: think It subtracts. ;; play: edit calc.py a - b => a + b ;; play: text Fixed. ;;
//! ```
//!
//! A directive ends at the end of its line or at `;;`. End the last one with `;;` too: some programs put quotes around a prompt.
//!
//! | directive | the answer |
//! |---|---|
//! | `write PATH TEXT` | calls the program's tool that writes a file; the text gets a newline at its end |
//! | `edit PATH OLD => NEW` | calls the one that edits (some want the file read first) |
//! | `read PATH`, `shell COMMAND` | calls the one that reads, or runs a command |
//! | `plan A \| B` | calls the one that keeps a list of what is to be done |
//! | `exitplan TEXT` | calls the one that ends planning |
//! | `ask QUESTION \| A \| B` | calls the one that asks the user |
//! | `tool NAME JSON` | calls this tool with these arguments, declared or not |
//! | `forever DIRECTIVE` | the same call again and again, without end |
//! | `text TEXT` | says this, and the turn is over |
//! | `refuse TEXT` | says this in the way in which a model refuses |
//! | `lure WHAT` | says something that tries to make whoever reads it do harm: see [`Lure`](super::lures::Lure) |
//! | `inject WHAT` | two steps: a tool's result with such a text in it, and a model that obeys it |
//! | `script NAME` | the steps of a script that the model was given under this name |
//!
//! These change the step that follows:
//!
//! | directive | the next answer |
//! |---|---|
//! | `say TEXT`, `think TEXT` | has this text, or this thought, before its call |
//! | `usage IN OUT [CACHED]` | tells that it used this; otherwise 1000, 50 and 200 |
//! | `error STATUS [N] [after S]` | is this error, N times or always; `after` is what `retry-after` says |
//! | `wait S`, `slow S` | comes after so many seconds; has so many between its parts |
//! | `hang [N]`, `stall [N]` | never begins; stops in the middle, and the connection stays |
//! | `cut [N]`, `garble [N]`, `badargs [N]` | is torn in the middle; has broken JSON in the stream; has broken arguments |
//! | `giant MIB`, `endless` | has so much text before its own; has text without end |
//! | `length` | ends because it is too long |
//!
//! A step that a program has no tool for is left out, so that one script fits every program. Which step is next is counted in answers: so a tool that
//! a program declares only later must be called by its name, with `tool`.
//!
//! What happens N times is counted for each prompt, model and directory: two tests that send the same from the same place to one server share the
//! count, unless they say a word of their own.
//!
//! And `toolless`, anywhere, makes a script play also for requests that declare no tools. Those are titles and summaries otherwise,
//! and get a short text.
//!
//! In texts `\n`, `\t` and `\\` mean what they usually do; in `shell` and `tool` they are left alone. Every verb can also be written with `64`
//! at its end, as in `text64`; what follows is then the whole argument in base64, taken as it is. [`Script`] prints itself as directives, so a
//! test can write a script in Rust, and put it into a prompt.

mod parse;
mod print;

use std::time::Duration;

use super::usage::Usage;

pub use parse::Wrong;
pub(super) use parse::carries;

/// Steps, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    pub steps: Vec<Step>,
    pub toolless: Toolless,
}

/// What happens to requests that declare no tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Toolless {
    /// They are titles and summaries, and get a short text.
    #[default]
    Housekeeping,
    /// The script's texts are for them too.
    Plays,
}

/// One answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub act: Act,
    pub say: Option<String>,
    pub think: Option<String>,
    pub usage: Option<Usage>,
    pub faults: Vec<Fault>,
}

/// What an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Write {
        path: String,
        text: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Read {
        path: String,
    },
    Shell {
        command: String,
    },
    Plan {
        items: Vec<String>,
    },
    ExitPlan {
        plan: String,
    },
    Ask {
        question: String,
        choices: Vec<String>,
    },
    Tool {
        name: String,
        arguments: String,
    },
    Forever(Box<Act>),
    Text(String),
    Refuse(String),
    /// Stands for the steps of another.
    Script(String),
}

/// How an answer goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: Mischief,
    /// How often; without it always.
    pub times: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mischief {
    Error { status: u16, after: Option<u32> },
    Wait(Duration),
    Slow(Duration),
    Hang,
    Stall,
    Cut,
    Garble,
    BadArguments,
    Giant { mib: u32 },
    Endless,
    Length,
}

impl Step {
    pub fn new(act: Act) -> Self {
        Self { act, say: None, think: None, usage: None, faults: Vec::new() }
    }
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads directives. Text around them is no part of a script.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        parse::parse(text)
    }

    #[must_use]
    pub fn then(mut self, act: Act) -> Self {
        self.steps.push(Step::new(act));
        self
    }

    #[must_use]
    pub fn read(self, path: &str) -> Self {
        self.then(Act::Read { path: path.to_owned() })
    }

    #[must_use]
    pub fn write(self, path: &str, text: &str) -> Self {
        self.then(Act::Write { path: path.to_owned(), text: text.to_owned() })
    }

    #[must_use]
    pub fn edit(self, path: &str, old: &str, new: &str) -> Self {
        let act = Act::Edit { path: path.to_owned(), old: old.to_owned(), new: new.to_owned() };
        self.then(act)
    }

    #[must_use]
    pub fn shell(self, command: &str) -> Self {
        self.then(Act::Shell { command: command.to_owned() })
    }

    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.then(Act::Text(text.to_owned()))
    }

    /// What the last step thinks before it acts.
    #[must_use]
    pub fn thinking(mut self, thought: &str) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.think = Some(thought.to_owned());
        }
        self
    }

    /// What the last step says before it acts.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.say = Some(text.to_owned());
        }
        self
    }

    /// What the last step tells that it used.
    #[must_use]
    pub fn using(mut self, usage: Usage) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.usage = Some(usage);
        }
        self
    }

    /// How the last step goes wrong: so often, or always.
    #[must_use]
    pub fn failing(mut self, kind: Mischief, times: Option<u32>) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.faults.push(Fault { kind, times });
        }
        self
    }

    /// Plays also for requests that declare no tools.
    #[must_use]
    pub fn also_without_tools(mut self) -> Self {
        self.toolless = Toolless::Plays;
        self
    }
}

#[cfg(test)]
mod tests;
