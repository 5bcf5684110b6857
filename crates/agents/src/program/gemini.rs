//! Gemini CLI, by its `stream-json`: over ACP it does not find its sessions again, and does not tell what tools said.
//!
//! Habits: with an address of its own it wants to be told how it is authenticated; it starts itself a second time unless it is told not
//! to; it leaves its plan mode by itself, so that mode is not used; it ignores signals, so it is ended with its sandbox's tools.

use serde_json::json;

use super::{
    FirstInput, Format, HOME, HomeFile, KEY, Launch, Lines, ModelChoice, Package, Program, Speech,
    Steering, Wish, variables, words,
};

pub(super) const PROGRAM: Program = Program {
    name: "gemini",
    title: "Gemini CLI",
    packages: &[Package { name: "@google/gemini-cli", version: "0.61.0" }],
    binary: "gemini",
    version: &["gemini", "--version"],
    formats: &[Format::Gemini],
    model: ModelChoice::Its,
    speech: Speech::Lines(Lines::Gemini),
    steering: Steering::AfterTurn,
    memory: &[".gemini/tmp"],
    memory_mib: 2048,
    launch,
};

const PLATFORM: &str = ".gemini/platform.json";

fn launch(wish: &Wish<'_>) -> Launch {
    let mut argv = words(["gemini", "--output-format", "stream-json", "--approval-mode", "yolo"]);
    argv.extend(words(["--skip-trust", "--extensions", "none"]));
    if !wish.model.is_empty() {
        argv.extend(words(["-m", wish.model]));
    }
    if let Some(session) = wish.session {
        argv.extend(words(["--resume", session]));
    }
    let environment = variables([
        ("GEMINI_API_KEY", KEY),
        ("GOOGLE_GEMINI_BASE_URL", wish.url()),
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &format!("{HOME}/{PLATFORM}")),
    ]);
    let settings = json!({
        "security": {
            "auth": { "selectedType": "gemini-api-key" },
            "environmentVariableRedaction": { "enabled": true },
        },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "general": {
            "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false,
            // It throws sessions away at its start; what is remembered is ours to keep.
            "sessionRetention": { "enabled": false },
        },
    });
    let settings = HomeFile { path: ".gemini/settings.json", text: settings.to_string() };
    // These count more than those of the repository, which may be the change that is to be reviewed.
    let platform = json!({
        "mcp": { "allowed": ["none"] },
        "hooksConfig": { "enabled": false },
        "skills": { "enabled": false },
    });
    let platform = HomeFile { path: PLATFORM, text: platform.to_string() };
    Launch { argv, environment, files: vec![settings, platform], input: FirstInput::Prompt }
}
