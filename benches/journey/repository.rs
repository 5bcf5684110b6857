//! What is worked in: a sum that subtracts, and tests of it that take milliseconds.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::ensure;
use fs_err as fs;

const SUM: &str = "def add(a, b):\n    return a - b\n";

/// One test holds whatever the sum does, one finds the bug.
const TESTS: &str = "import unittest\n\nfrom sum import add\n\n\nclass Sum(unittest.TestCase):\n    \
     def test_nothing(self):\n        self.assertEqual(add(0, 0), 0)\n\n    \
     def test_two_and_three(self):\n        self.assertEqual(add(2, 3), 5)\n";

const MAKEFILE: &str = "test:\n\tpython3 -B -m unittest -v test_sum\n";

/// One with a bug that a test finds, at `path`.
pub fn make(path: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(path)?;
    for (file, text) in [("sum.py", SUM), ("test_sum.py", TESTS), ("Makefile", MAKEFILE)] {
        fs::write(path.join(file), text)?;
    }
    git(path, &["init", "--quiet", "--template=", "--initial-branch", "main"])?;
    git(path, &["add", "--all"])?;
    git(path, &["commit", "--quiet", "--message", "first"])?;
    Ok(path.to_owned())
}

/// Git as nobody has ever set it up.
pub fn git(at: &Path, words: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    command.current_dir(at).args(words).stdin(Stdio::null());
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")]);
    command.envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|it| (it, "Ann")));
    command.envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|it| (it, "ann@example.com")));
    let status = command.status()?;
    ensure!(status.success(), "git {}: {status}", words.join(" "));
    Ok(())
}
