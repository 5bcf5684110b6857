//! Any other agent that speaks ACP: whoever names it says how it is started, and its image has it.
//!
//! Where its model is, it finds in variables; what it makes of them is between the two.

use super::{
    FirstInput, Format, KEY, KEY_VARIABLE, Launch, ModelChoice, Program, Speech, Steering, Wish,
    variables,
};

pub(super) const PROGRAM: Program = Program {
    name: "acp",
    title: "an agent that speaks ACP",
    packages: &[],
    binary: "",
    version: &[],
    formats: &[
        Format::OpenAiChat,
        Format::AnthropicMessages,
        Format::OpenAiResponses,
        Format::Gemini,
    ],
    model: ModelChoice::Its,
    speech: Speech::Acp,
    steering: Steering::AtOnce,
    memory: &[],
    memory_mib: 2048,
    launch,
};

fn launch(wish: &Wish<'_>) -> Launch {
    let format = wish.format(Format::OpenAiChat);
    let mut environment = variables([
        ("LAMP_MODEL_URL", wish.url()),
        ("LAMP_MODEL_FORMAT", format.as_str()),
        ("LAMP_MODEL", wish.model),
        (KEY_VARIABLE, KEY),
    ]);
    // The names that most programs know.
    environment.extend(match format {
        Format::AnthropicMessages => {
            variables([("ANTHROPIC_BASE_URL", wish.url()), ("ANTHROPIC_API_KEY", KEY)])
        }
        Format::OpenAiChat | Format::OpenAiResponses => {
            variables([("OPENAI_BASE_URL", wish.url()), ("OPENAI_API_KEY", KEY)])
        }
        Format::Gemini => {
            variables([("GOOGLE_GEMINI_BASE_URL", wish.url()), ("GEMINI_API_KEY", KEY)])
        }
    });
    let command = wish.command.unwrap_or_default().to_owned();
    Launch {
        argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), command],
        environment,
        files: Vec::new(),
        input: FirstInput::Protocol,
    }
}
