//! Who is measured: two programs that people use, one of which is started for each turn, and our own, which speaks ACP.
//!
//! Only programs that ask nobody but their model, because on the host nobody would stop them.

use std::fmt;

use agents::{
    Endpoint, Format, Program,
    program::{Launch, Wish},
};
use anyhow::Context as _;
use contracts::agent::Mode;

/// A program, and the model that it is told to ask.
#[derive(Debug, Clone, Copy)]
pub struct Actor {
    pub name: &'static str,
    pub model: &'static str,
}

pub const CAST: [Actor; 3] = [
    Actor { name: "builtin", model: "model-of-builtin" },
    Actor { name: "codex", model: "model-of-codex" },
    Actor { name: "claude-code", model: "claude-sonnet-4-5" },
];

impl Actor {
    pub fn program(self) -> anyhow::Result<&'static Program> {
        Program::named(self.name).with_context(|| format!("there is no agent `{}`", self.name))
    }

    /// Whether it comes from a registry.
    pub fn is_installed(self) -> bool {
        Program::named(self.name).is_some_and(|program| !program.packages.is_empty())
    }

    /// Its name, with its version where it has one.
    pub fn title(self) -> String {
        let package = Program::named(self.name).and_then(|program| program.packages.first());
        package.map_or_else(
            || self.name.to_owned(),
            |package| format!("{} {}", self.name, package.version),
        )
    }

    /// How it is started where its model is at this port, without a gateway. In the same language in which our server would have it
    /// ask, if all providers are set up: the one that it likes best.
    pub fn launch(self, port: u16) -> anyhow::Result<Launch> {
        let program = self.program()?;
        let format = *program.formats.first().context("it asks no model")?;
        let path = match format {
            Format::AnthropicMessages | Format::Gemini => "",
            Format::OpenAiResponses | Format::OpenAiChat => "/v1",
        };
        let endpoint = Endpoint { format, url: format!("http://127.0.0.1:{port}{path}") };
        Ok((program.launch)(&Wish {
            mode: Mode::Implement,
            model: self.model,
            endpoint: Some(&endpoint),
            session: None,
            command: None,
        }))
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_programs_that_can_be_started() {
        for actor in CAST {
            let launch = actor.launch(80).unwrap();
            let said = format!("{:?} {:?}", launch.environment, launch.files);
            assert!(said.contains("http://127.0.0.1:80"), "{actor} is told where its model is");
        }
    }
}
