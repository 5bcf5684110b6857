//! Qwen Code, by ACP, which it speaks itself.
//!
//! Habits: it starts itself a second time unless it is told not to, and takes the most memory of all; left to itself it asks its model
//! whether a command is harmless, so it is always told when to ask; a tool that is refused ends its turn; it wants a file read before it
//! is edited, and runs no bare `sleep`; it retries a model that is busy for minutes; after each turn it asks its model for suggestions and
//! memories unless these are off; left to itself it runs the hooks and starts the servers that the repository names.

use serde_json::json;

use super::{
    FirstInput, Format, HomeFile, KEY, Launch, ModelChoice, Package, Program, Speech, Steering,
    Wish, may_write, variables, words,
};

pub(super) const PROGRAM: Program = Program {
    name: "qwen",
    title: "Qwen Code",
    packages: &[Package { name: "@qwen-code/qwen-code", version: "0.24.4" }],
    binary: "qwen",
    version: &["qwen", "--version"],
    formats: &[Format::OpenAiChat, Format::AnthropicMessages],
    model: ModelChoice::Ours,
    speech: Speech::Acp,
    steering: Steering::AtOnce,
    memory: &[".qwen/projects"],
    memory_mib: 3072,
    launch,
};

fn launch(wish: &Wish<'_>) -> Launch {
    let (kind, prefix) = match wish.format(Format::OpenAiChat) {
        Format::AnthropicMessages => ("anthropic", "ANTHROPIC"),
        Format::OpenAiResponses | Format::OpenAiChat | Format::Gemini => ("openai", "OPENAI"),
    };
    // Where it may not write, it asks before each tool, and is told so.
    let asks = if may_write(wish.mode) { "yolo" } else { "default" };
    let mut environment =
        variables([("QWEN_CODE_NO_RELAUNCH", "true"), ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")]);
    environment.extend([
        (format!("{prefix}_BASE_URL"), wish.url().to_owned()),
        (format!("{prefix}_API_KEY"), KEY.to_owned()),
        (format!("{prefix}_MODEL"), wish.model.to_owned()),
    ]);
    let settings = json!({
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "general": { "enableAutoUpdate": false },
        // Requests after each turn, for what nobody here reads.
        "ui": { "enableFollowupSuggestions": false },
        "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
    });
    Launch {
        // Safe: nothing of the repository, which may be the change that is to be reviewed.
        argv: words(["qwen", "--acp", "--safe-mode", "--auth-type", kind, "--approval-mode", asks]),
        environment,
        files: vec![HomeFile { path: ".qwen/settings.json", text: settings.to_string() }],
        input: FirstInput::Protocol,
    }
}
