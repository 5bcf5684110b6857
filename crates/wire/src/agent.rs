//! Agents: which programs there are, and one at work in a sandbox, over a WebSocket.
//!
//! ```text
//!  client                                     server
//!  text   StartAgent ──────────────────────▶
//!         ◀─────────────────────────────────  text   {"type":"event","event":{…}}      what it does, as it happens
//!  text   {"type":"words","text":…} ───────▶                                           a person steers
//!         ◀─────────────────────────────────  text   {"type":"finished",…} or {"type":"failed",…}, then close
//! ```
//!
//! Closing the socket ends the program with all that it started.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::{Code, Problem},
    sandbox::ComputeWish,
};

/// The programs that this server can work with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agents {
    pub agents: Vec<Agent>,
    /// The models that are set up in `lamp.yaml`.
    pub models: Vec<Model>,
    /// Agents that a file defines: beside the server's `lamp.yaml`, and in the repository that was asked about.
    #[serde(default)]
    pub written: Vec<WrittenAgent>,
}

/// Which repository's own agents are wanted too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// An agent that a file defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WrittenAgent {
    /// Nothing, where the file is wrong and does not even say it.
    pub name: Option<String>,
    /// Where it is written: `agents/fix.yaml`, or `web@0123456789ab:agents/fix.yaml`.
    pub file: String,
    /// `server` or `repository`.
    pub origin: String,
    /// The whole commit of a repository's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The program that works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why nobody can have it, with what helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// As `driver` in `agents/*.yaml` says it.
    pub name: String,
    pub title: String,
    /// Installed from these, at exactly these versions. Empty: brought along, or the image has it.
    pub packages: Vec<AgentPackage>,
    /// The models' languages that it speaks, the best first. Empty: it asks no model.
    pub formats: Vec<String>,
    /// Names of models in `lamp.yaml` that it can work with.
    pub models: Vec<String>,
    /// When a person's words reach it.
    pub steering: Steering,
    /// What it needs beside what it builds.
    pub memory_mib: u32,
    /// The layers of an image that has it, in their order.
    pub layers: Vec<AgentLayer>,
    /// Whether whoever starts it says what is started.
    pub needs_command: bool,
    /// Whether whoever starts it says which model is asked.
    pub needs_model: bool,
}

impl Agent {
    /// Whether it can be started so. The server asks this, and clients may before they build anything.
    pub fn check(&self, start: &StartAgent, models: &[Model]) -> Result<(), Problem> {
        let name = &self.name;
        let bad = |message: String, help: &str| {
            Err(Problem::new(Code::BadRequest, message).with_help(help))
        };
        let is_said = start.command.as_ref().is_some_and(|it| !it.trim().is_empty());
        match (self.needs_command, is_said) {
            (true, false) => {
                return bad(
                    format!("`{name}` needs to be told what to start"),
                    "name it with `--command`",
                );
            }
            (false, true) => {
                return bad(
                    format!("`{name}` brings its own command"),
                    "leave `--command` out, or use the agent `command`",
                );
            }
            (true, true) | (false, false) => {}
        }
        if self.formats.is_empty() {
            return Ok(());
        }
        if self.needs_model && start.model.as_ref().is_none_or(String::is_empty) {
            let message = format!("`{name}` has to be told which model to ask");
            return bad(message, "name one with `--model`");
        }
        let speaks = format!(
            "it speaks {}; add a provider that does under `models:`, and its key with `lamp secret set`",
            self.formats.join(", ")
        );
        match &start.provider {
            None if self.models.is_empty() => {
                bad(format!("`lamp.yaml` sets up no model that `{name}` can speak with"), &speaks)
            }
            Some(wanted) if models.iter().all(|model| model.name != *wanted) => {
                let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
                let help = format!("those that there are: {}", names.join(", "));
                let help = if names.is_empty() { speaks } else { help };
                bad(format!("`lamp.yaml` sets up no model provider `{wanted}`"), &help)
            }
            Some(wanted) if !self.models.contains(wanted) => {
                bad(format!("`{name}` cannot speak with `{wanted}`"), &speaks)
            }
            None | Some(_) => Ok(()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentPackage {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentLayer {
    pub what: String,
    pub setup: String,
    pub compute: ComputeWish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    AtOnce,
    AfterTurn,
    Never,
}

/// One model provider of `lamp.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Model {
    pub name: String,
    pub provider: String,
    /// The rule that lets a sandbox reach it.
    pub rule: String,
}

/// Whether an image has a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Presence {
    /// At the version that we know.
    Here {
        version: String,
    },
    /// At another one, which may speak otherwise.
    Other {
        version: String,
        wanted: String,
    },
    Missing {},
    /// It is there and does not start.
    Broken {
        reason: String,
    },
    /// It is brought along, or whoever starts it says what is started.
    NotAsked {},
}

/// What a sandbox has, by the names of programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentsInside {
    pub agents: Vec<AgentInside>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentInside {
    pub name: String,
    pub presence: Presence,
}

/// The first message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartAgent {
    /// Which program.
    pub agent: String,
    #[serde(default)]
    pub mode: AgentMode,
    /// What it is to do.
    pub request: String,
    /// What was said since: answers to its questions, for example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidance: Vec<String>,
    /// The name of a provider in `lamp.yaml`; the first that fits when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model; the program's own choice when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What is to be started, for `acp` and `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Continue what it remembers under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where the repositories are, the one to work in first; all in `/workspace` when it is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
    /// Ended with everything that it started when this has passed; an hour when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_millis: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentMode {
    Research,
    Plan,
    #[default]
    Implement,
    Review,
}

/// What the client says as text, after [`StartAgent`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentHears {
    Words { text: String },
}

/// What the server says as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentSays {
    Event { event: AgentEvent },
    Finished(AgentOutcome),
    Failed { error: Problem },
}

impl AgentSays {
    /// What a client writes last when it left because of a signal: nobody is there any more who could say it.
    pub fn ended_by_signal() -> Self {
        Self::Failed { error: Problem::new(Code::Stopped, "it was ended by a signal") }
    }
}

/// What an agent does, in one language for all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentEvent {
    /// What it was told, in parts.
    Briefed {
        part: u32,
        text: String,
    },
    Started {
        program: String,
        version: Option<String>,
        model: Option<String>,
        session: Option<String>,
    },
    /// Parts with one number are one message.
    Message {
        number: u32,
        text: String,
    },
    Thought {
        number: u32,
        text: String,
    },
    /// Told again with the same id when something about it changed.
    ToolCall {
        id: String,
        title: String,
        tool: ToolKind,
        status: ToolStatus,
        input: Option<String>,
        result: Option<String>,
        paths: Vec<String>,
    },
    FileChanged {
        path: String,
    },
    Todo {
        items: Vec<TodoItem>,
    },
    /// It asked whether it may, and this is what the platform said.
    Permission {
        title: String,
        allowed: bool,
    },
    Question {
        text: String,
        choices: Vec<String>,
    },
    /// A person's words reached it.
    Heard {
        text: String,
    },
    /// What the run has used so far, as metered outside the sandbox.
    Usage(AgentUsage),
    Trouble {
        text: String,
    },
    /// The last one.
    Finished {
        ending: AgentEnding,
        reason: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Edit,
    Search,
    Execute,
    Fetch,
    Think,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Running,
    Done,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TodoItem {
    pub text: String,
    pub state: TodoState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    Waiting,
    Doing,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentEnding {
    Answered,
    Asked,
    Stopped,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentUsage {
    /// Millionths of a dollar.
    pub cost_micros: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentOutcome {
    pub answer: AgentAnswer,
    /// What the program calls its memory.
    pub session: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentAnswer {
    /// It needs to know something before it can go on.
    Question {
        text: String,
        choices: Vec<String>,
    },
    Notes {
        text: String,
    },
    Plan(AgentPlan),
    /// The work in the sandbox is ready to be looked at.
    Change {},
    Review {
        findings: Vec<AgentFinding>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentPlan {
    pub summary: String,
    pub files: Vec<PlannedFile>,
    pub tests: Vec<String>,
    pub expected_behaviour: String,
    pub commands: Vec<String>,
    pub hosts: Vec<String>,
    pub risks: Vec<String>,
    /// What the agent expects it to take, if it says so.
    pub minutes: Option<u64>,
    pub cost_micros: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedFile {
    pub path: String,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentFinding {
    pub path: String,
    pub line: u32,
    pub what: String,
    pub failing_input: String,
}
