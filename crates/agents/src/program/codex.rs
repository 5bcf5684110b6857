//! Codex, by `codex exec --json`: one process for each turn.
//!
//! Habits: it has a sandbox of its own, which is switched off inside ours; with an input that stays open it waits for ever; it syncs
//! plugins from the net unless these are off; its home must not be below the temporary directory; its tools see its key
//! unless the policy of its shell leaves that out; its search runs at the provider, past the gateway, and is switched off.

use super::{
    FirstInput, Format, HomeFile, KEY, KEY_VARIABLE, Launch, Lines, ModelChoice, Package, Program,
    Speech, Steering, Wish, variables, words,
};

pub(super) const PROGRAM: Program = Program {
    name: "codex",
    title: "Codex",
    packages: &[Package { name: "@openai/codex", version: "0.166.0" }],
    binary: "codex",
    version: &["codex", "--version"],
    formats: &[Format::OpenAiResponses],
    model: ModelChoice::Its,
    speech: Speech::Lines(Lines::Codex),
    steering: Steering::AfterTurn,
    memory: &[".codex/sessions"],
    memory_mib: 1024,
    launch,
};

fn launch(wish: &Wish<'_>) -> Launch {
    let mut argv = words(["codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox"]);
    argv.extend(words([
        "--skip-git-repo-check",
        "-c",
        "shell_environment_policy.ignore_default_excludes=false",
    ]));
    if !wish.model.is_empty() {
        argv.extend(words(["-m", wish.model]));
    }
    if let Some(session) = wish.session {
        argv.extend(words(["resume", session]));
    }
    // What it is told comes by its input: an argument may not be long enough.
    argv.push("-".to_owned());
    let config = HomeFile { path: ".codex/config.toml", text: config(wish.url()) };
    Launch {
        argv,
        environment: variables([(KEY_VARIABLE, KEY)]),
        files: vec![config],
        input: FirstInput::Prompt,
    }
}

fn config(url: &str) -> String {
    format!(
        "model_provider = \"lamp\"\n\
         check_for_update_on_startup = false\n\
         web_search = \"disabled\"\n\
         \n\
         [analytics]\n\
         enabled = false\n\
         \n\
         [features]\n\
         plugins = false\n\
         \n\
         [model_providers.lamp]\n\
         name = \"Lamplighter\"\n\
         base_url = \"{url}\"\n\
         env_key = \"{KEY_VARIABLE}\"\n\
         wire_api = \"responses\"\n\
         request_max_retries = 2\n\
         stream_max_retries = 2\n"
    )
}
