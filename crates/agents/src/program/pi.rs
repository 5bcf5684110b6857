//! pi, by its adapter for ACP.
//!
//! Habits: the adapter starts `pi` and looks for it in the path; it says hello in a message unless it is told to be quiet; a model
//! that refuses is `end_turn` without a word; there are no permissions to ask for.

use serde_json::json;

use super::{
    FirstInput, Format, HomeFile, KEY, KEY_VARIABLE, Launch, ModelChoice, Package, Program, Speech,
    Steering, Wish, variables, words,
};

pub(super) const PROGRAM: Program = Program {
    name: "pi",
    title: "pi",
    packages: &[
        Package { name: "@earendil-works/pi-coding-agent", version: "0.87.1" },
        Package { name: "pi-acp", version: "0.0.34" },
    ],
    binary: "pi-acp",
    version: &["pi", "--version"],
    formats: &[Format::OpenAiChat, Format::AnthropicMessages],
    model: ModelChoice::Ours,
    speech: Speech::Acp,
    steering: Steering::AtOnce,
    memory: &[".pi/agent/sessions", ".pi/pi-acp"],
    memory_mib: 1024,
    launch,
};

fn launch(wish: &Wish<'_>) -> Launch {
    let (api, url) = match wish.format(Format::OpenAiChat) {
        Format::AnthropicMessages => ("anthropic-messages", wish.url()),
        Format::OpenAiResponses | Format::OpenAiChat | Format::Gemini => {
            ("openai-completions", wish.url())
        }
    };
    let model = json!({
        "id": wish.model, "name": wish.model, "reasoning": false, "input": ["text"],
        "contextWindow": 200_000, "maxTokens": 16_000,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
    });
    let models = json!({ "providers": { "lamp": {
        "baseUrl": url, "api": api, "apiKey": KEY_VARIABLE, "models": [model],
    }}});
    let settings = json!({
        "quietStartup": true, "defaultProvider": "lamp", "defaultModel": wish.model,
        // No extensions and settings of the repository: it may be the change that is to be reviewed.
        "defaultProjectTrust": "never",
    });
    Launch {
        argv: words(["pi-acp"]),
        environment: variables([(KEY_VARIABLE, KEY), ("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")]),
        files: vec![
            HomeFile { path: ".pi/agent/models.json", text: models.to_string() },
            HomeFile { path: ".pi/agent/settings.json", text: settings.to_string() },
        ],
        input: FirstInput::Protocol,
    }
}
