//! `OpenCode`, by ACP, which it speaks itself.
//!
//! Habits: everything is allowed unless its configuration says otherwise; its plan mode lets the shell write; it tries to install a
//! plugin in the background, in vain, which does no harm; it is slow to start, and faster without snapshots and language servers;
//! left to itself it starts the servers and loads the tools, agents and skills that the repository names.

use serde_json::json;

use super::{
    FirstInput, Format, HomeFile, KEY, KEY_VARIABLE, Launch, ModelChoice, Package, Program, Speech,
    Steering, Wish, may_write, variables, words,
};

pub(super) const PROGRAM: Program = Program {
    name: "opencode",
    title: "OpenCode",
    packages: &[Package { name: "opencode-ai", version: "1.18.33" }],
    binary: "opencode",
    version: &["opencode", "--version"],
    formats: &[Format::OpenAiChat, Format::AnthropicMessages],
    model: ModelChoice::Ours,
    speech: Speech::Acp,
    steering: Steering::AtOnce,
    memory: &[".local/share/opencode"],
    memory_mib: 2048,
    launch,
};

const CONFIG: &str = ".config/opencode/opencode.json";

fn launch(wish: &Wish<'_>) -> Launch {
    let environment = variables([
        (KEY_VARIABLE, KEY),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_PURE", "1"),
        // Nothing of the repository: what is here may be the change that is to be reviewed.
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
        ("OPENCODE_DISABLE_CLAUDE_CODE", "1"),
        ("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1"),
    ]);
    let text = config(wish).to_string();
    Launch {
        argv: words(["opencode", "acp"]),
        environment,
        files: vec![HomeFile { path: CONFIG, text }],
        input: FirstInput::Protocol,
    }
}

fn config(wish: &Wish<'_>) -> serde_json::Value {
    let (package, url) = match wish.format(Format::OpenAiChat) {
        Format::AnthropicMessages => ("@ai-sdk/anthropic", format!("{}/v1", wish.url())),
        Format::OpenAiResponses | Format::OpenAiChat | Format::Gemini => {
            ("@ai-sdk/openai-compatible", wish.url().to_owned())
        }
    };
    let name = format!("lamp/{}", wish.model);
    let edit = if may_write(wish.mode) { "allow" } else { "deny" };
    json!({
        "autoupdate": false,
        "share": "disabled",
        "snapshot": false,
        "lsp": false,
        "formatter": false,
        "model": name,
        "small_model": name,
        "enabled_providers": ["lamp"],
        "permission": { "edit": edit, "bash": "allow", "webfetch": "deny" },
        "provider": { "lamp": {
            "npm": package,
            "name": "Lamplighter",
            "options": { "baseURL": url, "apiKey": format!("{{env:{KEY_VARIABLE}}}") },
            "models": { wish.model: { "name": wish.model } },
        }},
    })
}
