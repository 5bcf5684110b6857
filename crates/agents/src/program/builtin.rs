//! The agent that comes with Lamplighter: one static program that speaks ACP, and any model's language.
//!
//! It is not in an image. It is brought into the sandbox before it starts ([`crate::crew`]).

use super::{
    FirstInput, Format, KEY, KEY_VARIABLE, Launch, ModelChoice, Program, Speech, Steering, Wish,
    variables,
};

/// Where it is put, below the home of agents.
pub(super) const PLACE: &str = ".lamp-agent/lamp-agent";

pub(super) const PROGRAM: Program = Program {
    name: "builtin",
    title: "the built-in agent",
    packages: &[],
    binary: "lamp-agent",
    version: &[],
    formats: &[Format::AnthropicMessages, Format::OpenAiChat, Format::Gemini],
    model: ModelChoice::Ours,
    speech: Speech::Acp,
    steering: Steering::AtOnce,
    memory: &[".lamp-agent/sessions"],
    memory_mib: 64,
    launch,
};

fn launch(wish: &Wish<'_>) -> Launch {
    let format = match wish.format(Format::OpenAiChat) {
        Format::AnthropicMessages => "anthropic",
        Format::OpenAiResponses | Format::OpenAiChat => "openai",
        Format::Gemini => "gemini",
    };
    let environment = variables([
        ("LAMP_MODEL_FORMAT", format),
        ("LAMP_MODEL_URL", wish.url()),
        ("LAMP_MODEL", wish.model),
        (KEY_VARIABLE, KEY),
        ("LAMP_MODE", wish.mode.name()),
    ]);
    Launch {
        argv: vec![format!("{}/{PLACE}", super::HOME)],
        environment,
        files: Vec::new(),
        input: FirstInput::Protocol,
    }
}
