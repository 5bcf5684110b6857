//! The repository that they work in: a sum that subtracts.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use fs_err as fs;

const COMMIT: &str = "git init --quiet --initial-branch main && git add . && \
     git -c user.name=Ann -c user.email=ann@example.com commit --quiet --message first";

/// At one place and the same each time: a server knows a repository by its name, and its data are kept.
pub fn make(at: &Path) -> anyhow::Result<PathBuf> {
    let directory = at.join("project");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("calc.py"), "def add(a, b):\n    return a - b\n")?;
    fs::write(directory.join("AGENTS.md"), "# Rules\n\nKeep it small.\n")?;
    let mut command = Command::new("sh");
    command.args(["-c", COMMIT]).current_dir(&directory);
    command
        .envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "2026-01-01T00:00:00Z")));
    done(command)?;
    Ok(directory)
}

/// A checkout of it.
pub fn check_out(project: &Path, to: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    command.args(["clone", "--quiet"]).args([project, to]);
    done(command)
}

fn done(mut command: Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).status().context("git")?;
    ensure!(status.success(), "git: {status}");
    Ok(())
}
