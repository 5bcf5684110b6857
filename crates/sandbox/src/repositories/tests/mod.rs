//! Real git, real repositories, and checkouts of them.

#![allow(clippy::unwrap_used, reason = "tests")]

mod checkouts;
mod trees;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use domain::code::CommitId;
use git::{FetchLimits, Mirrors};

/// A directory with a repository in it, and mirrors beside it.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { directory: tempfile::tempdir().unwrap() };
        bench.git(&["init", "--quiet", "--initial-branch=trunk", "source"]);
        bench.commit("one");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn source(&self) -> String {
        self.path("source").display().to_string()
    }

    fn git(&self, arguments: &[&str]) -> String {
        git_in(self.directory.path(), arguments)
    }

    /// Writes `content` into a file of the source and commits it.
    fn commit(&self, content: &str) -> CommitId {
        fs::write(self.path("source").join("file"), content).unwrap();
        self.git(&["-C", "source", "add", "."]);
        self.git(&["-C", "source", "commit", "--quiet", "-m", content]);
        self.git(&["-C", "source", "rev-parse", "HEAD"]).parse().unwrap()
    }

    fn mirrors(&self) -> Mirrors {
        Mirrors::open(&self.path("mirrors"), Path::new("git"), FetchLimits::default()).unwrap()
    }
}

/// A person's git, with no settings of this machine.
fn git_in(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
