//! The programs that we know, one file each. Nothing outside a program's file knows its name, its flags or its habits.
//!
//! A file says where the program comes from and at which version, how it is started for a run, which language it
//! speaks, and what of its home has to be kept so that it remembers. To add one: a file here, a line in [`ALL`], and a recorded
//! transcript (`docs/guides/add-an-agent.md`).

mod acp;
mod builtin;
mod claude_code;
mod codex;
mod command;
mod gemini;
mod opencode;
mod pi;
mod qwen;

use std::{collections::BTreeMap, fmt};

pub(crate) use command::ANSWER;
pub use contracts::agent::Steering;
use contracts::{agent::Mode, sandbox::HOME};

/// Every program, in the order in which people are told.
pub const ALL: [&Program; 9] = [
    &claude_code::PROGRAM,
    &codex::PROGRAM,
    &opencode::PROGRAM,
    &gemini::PROGRAM,
    &pi::PROGRAM,
    &qwen::PROGRAM,
    &builtin::PROGRAM,
    &acp::PROGRAM,
    &command::PROGRAM,
];

/// Where recipes put programs, inside. In the home, because a setup without a root can write only there.
pub const SHELF: &str = "/home/lamp/.lamp-agents";

/// What there is to know about a program.
#[derive(Debug)]
pub struct Program {
    /// As `driver` in `agents/*.yaml` says it.
    pub name: &'static str,
    pub title: &'static str,
    /// What it is installed from. Nothing: it is brought along, or the image has it.
    pub packages: &'static [Package],
    /// What is started, looked up in the path. Empty where the owner says it.
    pub binary: &'static str,
    /// Asks for its version. Empty where there is none to ask for.
    pub version: &'static [&'static str],
    /// The models' languages that it can speak, the best first. None: it asks no model that we know of.
    pub formats: &'static [Format],
    pub model: ModelChoice,
    pub speech: Speech,
    pub steering: Steering,
    /// Directories below its home that hold what it remembers.
    pub memory: &'static [&'static str],
    /// What it needs beside what it builds.
    pub memory_mib: u32,
    /// Pure, so that it can be read in a test.
    pub launch: fn(&Wish<'_>) -> Launch,
}

/// A package of npm's registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    pub name: &'static str,
    /// Exactly this one: older ones speak otherwise, and newer ones were not tried.
    pub version: &'static str,
}

/// How a program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// The Agent Client Protocol, over its input and output.
    Acp,
    /// Claude Code's own, in both directions.
    ClaudeStream,
    /// Lines of JSON, one turn for each process.
    Lines(Lines),
    /// Says what it likes; what counts is how it ends.
    Plain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    Codex,
    Gemini,
}

/// Who says which model is asked, where nobody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelChoice {
    /// The program has a favourite.
    Its,
    /// It has to be told.
    Ours,
}

/// A language in which models are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    AnthropicMessages,
    OpenAiResponses,
    OpenAiChat,
    Gemini,
}

/// Where its model is, as seen inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub format: Format,
    /// Without a slash at its end. For `OpenAI`'s languages what stands before `/chat/completions`; for the others what stands
    /// before `/v1` and `/v1beta`.
    pub url: String,
}

/// What is given to a program as its key. It opens nothing anywhere: the gateway takes it out and puts the right one in.
pub const KEY: &str = "lamp-run-key-that-opens-nothing";

/// The variable that it is in, for programs that let us choose.
pub const KEY_VARIABLE: &str = "LAMP_MODEL_KEY";

/// What a program is to be started for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    pub mode: Mode,
    /// Empty: its own choice.
    pub model: &'a str,
    pub endpoint: Option<&'a Endpoint>,
    /// What it remembers.
    pub session: Option<&'a str>,
    /// What the owner says is to be started.
    pub command: Option<&'a str>,
}

impl Wish<'_> {
    /// Where its model is; nowhere, where it has none.
    pub fn url(&self) -> &str {
        self.endpoint.map_or("", |endpoint| endpoint.url.as_str())
    }

    /// The model's language; `fallback` where it has none.
    pub fn format(&self, fallback: Format) -> Format {
        self.endpoint.map_or(fallback, |endpoint| endpoint.format)
    }
}

/// How a program is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    pub argv: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Below its home, written before it starts.
    pub files: Vec<HomeFile>,
    pub input: FirstInput,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeFile {
    pub path: &'static str,
    pub text: String,
}

/// What a program finds at its input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FirstInput {
    /// What its language says.
    #[default]
    Protocol,
    /// What it is told, and then the end.
    Prompt,
}

impl Program {
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|program| program.name == name)
    }

    /// Whether its runs end in requests to a model that we meter.
    pub const fn asks_a_model(&self) -> bool {
        !self.formats.is_empty()
    }

    /// Whether it is ours, and brought into the sandbox before it starts.
    pub(crate) fn is_brought(&self) -> bool {
        self.name == builtin::PROGRAM.name
    }

    /// The directories in which its own programs are found, inside.
    pub fn path(&self) -> Vec<String> {
        if self.packages.is_empty() {
            return Vec::new();
        }
        vec![
            format!("{SHELF}/{}/node_modules/.bin", self.name),
            format!("{SHELF}/node/node_modules/.bin"),
        ]
    }
}

impl Format {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiChat => "openai-chat",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Words, as something to keep.
fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn variables<const N: usize>(variables: [(&str, &str); N]) -> BTreeMap<String, String> {
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Whether the program may change the repositories. The mount decides; this is so that the program knows.
const fn may_write(mode: Mode) -> bool {
    match mode {
        Mode::Implement => true,
        Mode::Research | Mode::Plan | Mode::Review => false,
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
