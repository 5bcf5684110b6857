//! Claude Code. Its own two-way stream tells more than ACP does, and needs no adapter.
//!
//! Habits: it calls home every few seconds unless it is told not to; without `--verbose` it does not stream; it retries a model that
//! refuses ten times unless it is told otherwise; it reads `CLAUDE.md` and not `AGENTS.md`, which is why the brief has that;
//! left to itself it runs the hooks, servers and key helpers that the repository's own settings name, and takes variables from them.

use super::{
    FirstInput, Format, KEY, Launch, ModelChoice, Package, Program, Speech, Steering, Wish,
    variables, words,
};

pub(super) const PROGRAM: Program = Program {
    name: "claude-code",
    title: "Claude Code",
    packages: &[Package { name: "@anthropic-ai/claude-code", version: "2.1.325" }],
    binary: "claude",
    version: &["claude", "--version"],
    formats: &[Format::AnthropicMessages],
    model: ModelChoice::Its,
    speech: Speech::ClaudeStream,
    steering: Steering::AtOnce,
    memory: &[".claude/projects"],
    memory_mib: 1024,
    launch,
};

fn launch(wish: &Wish<'_>) -> Launch {
    let mut argv = words([
        "claude",
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--permission-prompt-tool",
        "stdio",
        // Nothing of the repository: what is here may be the change that is to be reviewed.
        "--setting-sources",
        "user",
        "--strict-mcp-config",
    ]);
    if !wish.model.is_empty() {
        argv.extend(words(["--model", wish.model]));
    }
    if let Some(session) = wish.session {
        argv.extend(words(["--resume", session]));
    }
    let environment = variables([
        ("ANTHROPIC_BASE_URL", wish.url()),
        ("ANTHROPIC_API_KEY", KEY),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Ours retry too, and with a longer view.
        ("CLAUDE_CODE_MAX_RETRIES", "3"),
    ]);
    Launch { argv, environment, files: Vec::new(), input: FirstInput::Protocol }
}
