//! What a person does without us: starts the same program in a checkout, once for each step, runs the tests before and after, and commits.
//!
//! There are no walls, no gate, no review by somebody else and no receipt: it is the floor, not a rival.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use super::{actor, repository::git};

/// What the program is told. It does not look at it.
const TASK: &[u8] = b"{\"request\":\"The sum is wrong.\"}\n";

/// One whole task by hand.
#[derive(Debug, Clone, Copy)]
pub struct ByHand {
    /// From starting the program to its first words.
    pub first_word: Duration,
    /// All four runs of the program.
    pub program: Duration,
    /// With tests, checkout and commit.
    pub whole: Duration,
}

/// In a new checkout of `origin` at `path`.
pub async fn play(origin: &Path, path: &Path) -> anyhow::Result<ByHand> {
    let begun = Instant::now();
    let (from, to) = (origin.to_string_lossy(), path.to_string_lossy());
    git(origin, &["clone", "--quiet", &from, &to])?;
    let mut first_word = None;
    let mut program = Duration::ZERO;
    ensure!(!passes(path).await?, "the bug is not found before it is mended");
    for mode in actor::MODES {
        let run = run(path, mode).await?;
        first_word.get_or_insert(run.first_word);
        program += run.whole;
    }
    ensure!(passes(path).await?, "the bug was not mended");
    git(path, &["commit", "--quiet", "--all", "--message", "Add instead of subtracting"])?;
    let first_word = first_word.context("it was never started")?;
    Ok(ByHand { first_word, program, whole: begun.elapsed() })
}

struct Run {
    first_word: Duration,
    whole: Duration,
}

async fn run(at: &Path, mode: &str) -> anyhow::Result<Run> {
    let answer = at.with_extension("answer");
    let begun = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", actor::PROGRAM])
        .env("LAMP_MODE", mode)
        .env("LAMP_ANSWER", &answer)
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut to = child.stdin.take().context("no way to tell it anything")?;
    to.write_all(TASK).await?;
    drop(to);
    let mut from = BufReader::new(child.stdout.take().context("no way to hear it")?).lines();
    from.next_line().await?.context("it said nothing")?;
    let first_word = begun.elapsed();
    while from.next_line().await?.is_some() {}
    let status = child.wait().await?;
    let whole = begun.elapsed();
    ensure!(status.success(), "the program ended with {status}");
    if answer.exists() {
        fs::remove_file(&answer)?;
    }
    Ok(Run { first_word, whole })
}

async fn passes(at: &Path) -> anyhow::Result<bool> {
    let mut command = Command::new("make");
    command.arg("test").current_dir(at).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status().await?.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journey::repository;

    #[tokio::test]
    async fn the_program_mends_the_sum_by_hand() {
        let scratch = tempfile::tempdir().unwrap();
        let origin = repository::make(&scratch.path().join("origin")).unwrap();
        let played = play(&origin, &scratch.path().join("checkout")).await.unwrap();
        assert!(played.first_word <= played.program && played.program <= played.whole);
        let mended = fs::read_to_string(scratch.path().join("checkout/sum.py")).unwrap();
        assert!(mended.contains("a + b"));
    }
}
