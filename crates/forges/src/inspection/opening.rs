//! Files that run or instruct without anybody asking: when a directory is opened or entered, also by an agent, when dependencies are installed, when a forge
//! sees a push (those are listed in [`contracts::forge`], where approvals are looked at too). Known by their names, in any case, because editors on some systems do not care either.

use super::verdict::FlagKind;

/// Directories whose every file counts, wherever they are.
const DIRECTORIES: &[(&str, &str)] = &[
    (".vscode", "VS Code"),
    (".idea", "JetBrains"),
    (".fleet", "JetBrains Fleet"),
    (".zed", "Zed"),
    (".devcontainer", "dev containers"),
    (".husky", "git hooks"),
    (".githooks", "git hooks"),
    (".git-hooks", "git hooks"),
    (".direnv", "direnv"),
];

/// Directories of agents: their every file is read, or run, by whoever opens one there.
const OF_AGENTS: &[(&str, &str)] = &[
    (".claude", "Claude Code"),
    (".codex", "Codex"),
    (".cursor", "Cursor"),
    (".gemini", "Gemini"),
    (".opencode", "OpenCode"),
    (".agents", "agents"),
    (".windsurf", "Windsurf"),
    (".clinerules", "Cline"),
    (".roo", "Roo Code"),
    (".continue", "Continue"),
    (".kiro", "Kiro"),
    (".amazonq", "Amazon Q"),
    (".junie", "Junie"),
    (".aider", "aider"),
];

/// Files that agents read, or take programs from.
const FOR_AGENTS: &[(&str, &str)] = &[
    ("agents.md", "agents"),
    ("agents.override.md", "Codex"),
    ("agent.md", "agents"),
    ("claude.md", "Claude Code"),
    ("claude.local.md", "Claude Code"),
    ("gemini.md", "Gemini"),
    ("copilot-instructions.md", "Copilot"),
    (".mcp.json", "tools of agents"),
    ("mcp.json", "tools of agents"),
    ("opencode.json", "OpenCode"),
    ("opencode.jsonc", "OpenCode"),
    (".cursorrules", "Cursor"),
    (".cursorignore", "Cursor"),
    (".windsurfrules", "Windsurf"),
    (".clinerules", "Cline"),
    (".goosehints", "Goose"),
    (".aider.conf.yml", "aider"),
];

/// Directories of `.github` that Copilot reads.
const OF_COPILOT: &[&str] =
    &[".github/instructions/", ".github/prompts/", ".github/chatmodes/", ".github/agents/"];

/// Files that count, wherever they are.
const FILES: &[(&str, &str)] = &[
    (".envrc", "direnv"),
    (".devcontainer.json", "dev containers"),
    (".npmrc", "npm"),
    (".yarnrc", "Yarn"),
    (".yarnrc.yml", "Yarn"),
    (".pnpmfile.cjs", "pnpm"),
    (".pre-commit-config.yaml", "pre-commit"),
    ("lefthook.yml", "Lefthook"),
    (".lefthook.yml", "Lefthook"),
    (".lfsconfig", "git LFS"),
    (".exrc", "Vim"),
    (".vimrc", "Vim"),
    (".nvim.lua", "Neovim"),
    (".dir-locals.el", "Emacs"),
    (".gdbinit", "GDB"),
    (".lldbinit", "LLDB"),
    ("mise.toml", "mise"),
    (".mise.toml", "mise"),
    (".bazelrc", "Bazel"),
    (".gitconfig", "git"),
];

const ENDINGS: &[(&str, &str)] = &[
    (".code-workspace", "VS Code"),
    (".sublime-project", "Sublime Text"),
    (".desktop", "the desktop"),
    (".pth", "Python"),
];

const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "reference-transaction",
    "update",
];

/// What runs it, if it runs by being opened.
pub(super) fn runs(path: &[u8]) -> Option<&'static str> {
    let path = lower(path);
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop()?;
    let by_directory = DIRECTORIES.iter().find(|(directory, _)| parts.contains(directory));
    let by_name = FILES.iter().find(|(file, _)| *file == name);
    let by_ending = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    let is_hook = HOOKS.contains(&name) && parts.iter().any(|part| part.ends_with("hooks"));
    let cargo = parts.last() == Some(&".cargo") && name.starts_with("config");
    let found = by_directory.or(by_name).or(by_ending).map(|(_, what)| *what);
    found.or(is_hook.then_some("git hooks")).or(cargo.then_some("Cargo"))
}

/// Which agent takes it up, if one does.
pub(super) fn instructs(path: &[u8]) -> Option<&'static str> {
    let path = lower(path);
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop()?;
    let by_directory = OF_AGENTS.iter().find(|(directory, _)| parts.contains(directory));
    let by_name = FOR_AGENTS.iter().find(|(file, _)| *file == name);
    let copilot = OF_COPILOT.iter().any(|directory| path.starts_with(directory));
    let found = by_directory.or(by_name).map(|(_, what)| *what);
    found.or(copilot.then_some("Copilot"))
}

/// Which forge runs it, if one does.
pub(super) fn workflow(path: &[u8]) -> Option<&'static str> {
    contracts::forge::workflow(&String::from_utf8_lossy(path))
}

/// What tells git itself how to behave.
pub(super) fn steers_git(path: &[u8]) -> Option<FlagKind> {
    let path = lower(path);
    match path.rsplit('/').next() {
        Some(".gitattributes") => Some(FlagKind::Attributes),
        Some(".gitmodules") => Some(FlagKind::Modules),
        Some(_) | None => None,
    }
}

/// Git reads these through whatever is there.
pub(super) fn must_be_a_file(path: &[u8]) -> bool {
    let path = String::from_utf8_lossy(path);
    let name = super::names::plain(path.rsplit('/').next().unwrap_or_default());
    let short = ["gitmod~", "gi7eba~", "gitatt~", "gitign~", "gi250a~", "mailma~"];
    [".gitmodules", ".gitattributes", ".gitignore", ".mailmap"].contains(&name.as_str())
        || short.iter().any(|start| name.starts_with(start))
}

fn lower(path: &[u8]) -> String {
    String::from_utf8_lossy(path).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_by_being_opened_is_known_by_its_name() {
        for path in [
            ".vscode/tasks.json",
            "web/.VSCode/settings.json",
            ".idea/runConfigurations/x.xml",
            ".envrc",
            "a/.envrc",
            ".husky/pre-commit",
            "tools/hooks/pre-commit",
            "x.code-workspace",
            ".cargo/config.toml",
            ".devcontainer/devcontainer.json",
            ".npmrc",
        ] {
            assert!(runs(path.as_bytes()).is_some(), "{path}");
        }
        for path in
            ["Makefile", "src/hooks/use.ts", "hooks.md", "src/main.rs", "vscode/x", "update"]
        {
            assert_eq!(runs(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn what_agents_take_up_by_themselves_is_known_by_its_name() {
        for path in [
            "AGENTS.md",
            "web/Agents.md",
            "CLAUDE.md",
            "GEMINI.md",
            ".claude/settings.json",
            ".claude/agents/reviewer.md",
            ".mcp.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            "opencode.json",
            ".cursor/rules/a.mdc",
            ".cursorrules",
            ".github/copilot-instructions.md",
            ".github/instructions/a.instructions.md",
        ] {
            assert!(instructs(path.as_bytes()).is_some(), "{path}");
        }
        for path in [
            "README.md",
            "agents/a.yaml",
            "src/claude.rs",
            ".github/CODEOWNERS",
            "docs/instructions/a.md",
        ] {
            assert_eq!(instructs(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn files_that_git_reads_are_known_in_any_spelling() {
        for path in [".gitmodules", "a/.GITATTRIBUTES", "GITMOD~1", ".gitignore ", ".mailmap"] {
            assert!(must_be_a_file(path.as_bytes()), "{path}");
        }
        assert!(!must_be_a_file(b"gitmodules"));
    }
}
