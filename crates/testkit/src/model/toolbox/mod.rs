//! From what a script wants done to a call of a tool that the program has.
//!
//! Programs name the same tools differently, and name their parameters differently. The request declares both: so the tool is found by a
//! table of names, its parameters by another, and what it requires beyond that is filled from its JSON schema. A new version of a program
//! that adds a parameter breaks no test.

mod calls;
mod schema;
mod workdir;

use serde_json::{Map, Value};

use super::{conversation::Conversation, script::Act};

pub(super) use schema::value as value_of_schema;

/// A tool, as a request declares it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) schema: Map<String, Value>,
    pub(super) input: Input,
    /// The group that it is in, where a wire format has such.
    pub(super) namespace: Option<String>,
}

/// What a tool takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Input {
    #[default]
    Object,
    /// Any text.
    Free,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) arguments: Arguments,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arguments {
    Object(Map<String, Value>),
    Free(String),
    /// What is no JSON.
    Broken(String),
}

impl Arguments {
    /// As text, for formats where arguments are a string.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Object(object) => Value::Object(object.clone()).to_string(),
            Self::Free(text) => serde_json::json!({ "input": text }).to_string(),
            Self::Broken(text) => text.clone(),
        }
    }

    /// As a value, for formats where they are one.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Object(object) => Value::Object(object.clone()),
            Self::Free(text) => serde_json::json!({ "input": text }),
            Self::Broken(text) => Value::String(text.clone()),
        }
    }

    /// The same, broken off in the middle.
    pub(super) fn broken(&self) -> Self {
        let text = self.text();
        let half = text.chars().count() / 2;
        Self::Broken(text.chars().take(half.max(1)).collect())
    }
}

/// The tools that a program has, and where it works.
#[derive(Debug)]
pub(super) struct Toolbox<'a> {
    tools: &'a [Tool],
    directory: Option<String>,
}

/// What tools do, and what they are called. More particular names come first.
mod names {
    pub(super) const WRITE: &[&str] =
        &["Write", "write_file", "write", "create", "create_file", "text_editor", "fs_write"];
    pub(super) const EDIT: &[&str] =
        &["Edit", "replace", "edit", "edit_file", "text_editor", "str_replace"];
    pub(super) const READ: &[&str] = &["Read", "read_file", "read", "view", "text_editor"];
    pub(super) const SHELL: &[&str] = &[
        "Bash",
        "run_shell_command",
        "bash",
        "shell_command",
        "exec_command",
        "shell",
        "run_command",
        "execute_command",
    ];
    pub(super) const PLAN: &[&str] = &[
        "TodoWrite",
        "todowrite",
        "todo_write",
        "write_todos",
        "update_plan",
        "plan",
        "todo",
        "update_todo",
        "TaskCreate",
    ];
    pub(super) const EXIT_PLAN: &[&str] = &["ExitPlanMode", "exit_plan_mode", "plan_exit"];
    pub(super) const ASK: &[&str] = &[
        "AskUserQuestion",
        "ask_user_question",
        "ask_user",
        "request_user_input",
        "question",
        "ask",
    ];
    pub(super) const PATCH: &[&str] = &["apply_patch"];
}

impl<'a> Toolbox<'a> {
    /// `directory` is where the program works if the conversation does not say it.
    pub(super) fn new(conversation: &'a Conversation, directory: Option<&str>) -> Self {
        let found = conversation.surroundings().find_map(workdir::told);
        Self {
            tools: &conversation.tools,
            directory: found.or_else(|| directory.map(str::to_owned)),
        }
    }

    /// Where the program works.
    pub(super) fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
    }

    fn find(&self, names: &[&str]) -> Option<&'a Tool> {
        let is_called = |tool: &Tool, name: &str| {
            tool.name == name
                || tool.name.strip_suffix(name).is_some_and(|rest| rest.ends_with("__"))
        };
        names.iter().find_map(|name| self.tools.iter().find(|tool| is_called(tool, name)))
    }

    /// The call that does this. None where the program has no tool for it, and for what is no call.
    pub(super) fn call(&self, act: &Act) -> Option<Call> {
        match act {
            Act::Write { path, text } => self.write(path, text),
            Act::Edit { path, old, new } => self.edit(path, old, new),
            Act::Read { path } => self.read(path),
            Act::Shell { command } => self.shell(command),
            Act::Plan { items } => self.plan(items),
            Act::ExitPlan { plan } => self.exit_plan(plan),
            Act::Ask { question, choices } => self.ask(question, choices),
            Act::Tool { name, arguments } => Some(self.named(name, arguments)),
            Act::Forever(act) => self.call(act),
            Act::Text(_) | Act::Refuse(_) | Act::Script(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
