//! The sample repository: a village's street lamps, a fault that a test finds, and three commits of history.
//!
//! It is made anew each time, with fixed names and dates, so that its commits have the same hashes everywhere.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use terminal::report::Hint;

/// What is asked for. The bundled answers belong to exactly this.
pub(crate) const REQUEST: &str = "A lamp that is lit at 22:00 and put out at 06:00 burns -960 minutes. It should be 480. Mend it.";

/// What the repository is called.
pub(crate) const NAME: &str = "lamps";

/// What the sample cannot do without, inside the sandbox as well.
pub(crate) const NEEDED: [&str; 3] = ["git", "python3", "make"];

struct Commit {
    message: &'static str,
    date: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const HISTORY: [Commit; 3] = [
    Commit {
        message: "Tell how long a lamp burns",
        date: "2026-01-05T09:00:00Z",
        files: &[
            ("README.md", include_str!("sample/1/README.md")),
            ("lamps.py", include_str!("sample/1/lamps.py")),
        ],
    },
    Commit {
        message: "Test an evening",
        date: "2026-01-06T09:00:00Z",
        files: &[
            ("AGENTS.md", include_str!("sample/2/AGENTS.md")),
            ("Makefile", include_str!("sample/2/Makefile")),
            ("test_lamps.py", include_str!("sample/2/test_lamps.py")),
        ],
    },
    Commit {
        message: "Test a night, which fails",
        date: "2026-01-07T09:00:00Z",
        files: &[("test_lamps.py", include_str!("sample/3/test_lamps.py"))],
    },
];

/// Makes the repository in `directory`, which is made too.
pub(crate) fn make(directory: &Path) -> anyhow::Result<()> {
    fs_err::create_dir(directory)?;
    git(directory, &["init", "--quiet", "--template=", "--initial-branch", "main"], None)?;
    for Commit { message, date, files } in HISTORY {
        for (name, text) in files {
            fs_err::write(directory.join(name), text)?;
        }
        git(directory, &["add", "--all"], None)?;
        git(directory, &["commit", "--quiet", "--message", message], Some(date))?;
    }
    Ok(())
}

/// Runs git as if nobody had ever set it up: a person's hooks, signatures and templates have no place here.
fn git(directory: &Path, words: &[&str], date: Option<&str>) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    command.current_dir(directory).args(words).stdin(Stdio::null());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")]);
    command.envs([("GIT_AUTHOR_NAME", "Ann"), ("GIT_COMMITTER_NAME", "Ann")]);
    command.envs([
        ("GIT_AUTHOR_EMAIL", "ann@example.com"),
        ("GIT_COMMITTER_EMAIL", "ann@example.com"),
    ]);
    if let Some(date) = date {
        command.envs([("GIT_AUTHOR_DATE", date), ("GIT_COMMITTER_DATE", date)]);
    }
    let said = command.output().with_context(|| {
        Hint::new("cannot make the sample repository", "install git: the demo needs it")
    })?;
    if !said.status.success() {
        let words = words.join(" ");
        bail!("`git {words}` failed: {}", String::from_utf8_lossy(&said.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(directory: &Path, program: &str, words: &[&str]) -> (bool, String) {
        let said = Command::new(program).args(words).current_dir(directory).output().unwrap();
        let text = [said.stdout, said.stderr].concat();
        (said.status.success(), String::from_utf8(text).unwrap())
    }

    #[test]
    fn the_sample_has_the_same_history_everywhere() {
        let home = tempfile::tempdir().unwrap();
        let sample = home.path().join("lamps");
        make(&sample).unwrap();
        let (_, log) = run(&sample, "git", &["log", "--format=%h %an %ad %s", "--date=short"]);
        insta::assert_snapshot!(log, @r"
        f52d14e Ann 2026-01-07 Test a night, which fails
        c3f26d7 Ann 2026-01-06 Test an evening
        20788c8 Ann 2026-01-05 Tell how long a lamp burns
        ");
        let (_, state) = run(&sample, "git", &["status", "--porcelain"]);
        assert_eq!(state, "");
        assert!(make(&sample).is_err(), "nothing is made over what is there");
    }

    #[test]
    fn one_of_its_tests_passes_and_one_finds_the_fault() {
        let home = tempfile::tempdir().unwrap();
        let sample = home.path().join("lamps");
        make(&sample).unwrap();
        let (passed, said) = run(&sample, "make", &["test"]);
        assert!(!passed, "{said}");
        assert!(said.contains("AssertionError: -960 != 480"), "{said}");
        assert!(said.contains("Ran 2 tests") && said.contains("failures=1"), "{said}");
    }
}
