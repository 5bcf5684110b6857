//! A repository with 50,000 files: as git stores it, as a checkout on the host, and as an image.

use std::{
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use contracts::sandbox::{Base as ImageBase, Checkout, Compute, Recipe, Sandboxes as _};
use domain::code::{Access, RepositoryName};
use tokio::sync::mpsc;

use super::ground::{Base, Ground};

/// How many files it has.
pub const FILES: usize = 50_000;
const IN_ONE_DIRECTORY: usize = 100;

/// Where it is inside.
pub const INSIDE: &str = "/workspace/large";

const NAME: &str = "bench/large";

#[derive(Debug)]
pub struct Repository {
    bare: PathBuf,
    /// The same files on the host.
    pub checkout: PathBuf,
}

impl Repository {
    pub fn make(at: &Path) -> anyhow::Result<Self> {
        let (bare, checkout) = (at.join("large.git"), at.join("large"));
        git(at, &["init", "--quiet", "--bare", "--initial-branch=main", "large.git"])?;
        import(&bare)?;
        git(at, &["clone", "--quiet", "--shared", "large.git", "large"])?;
        Ok(Self { bare, checkout })
    }

    /// Builds an image with it, and says how long that took.
    pub async fn image(&self, ground: &Ground) -> anyhow::Result<(Base, Duration)> {
        let begun = Instant::now();
        let name: RepositoryName = NAME.parse()?;
        let mirrors = ground.provider.mirrors();
        mirrors.register(&name, &self.bare.to_string_lossy()).await?;
        mirrors.fetch(&name, None).await?;
        let commit = mirrors.resolve(&name, "main").await?;
        let sources = vec![Checkout { repository: name, commit, access: Access::Write }];
        let recipe = Recipe {
            base: ImageBase::Host,
            sources: sources.clone(),
            setup: Some(String::new()),
            compute: Compute::default(),
            network: None,
        };
        let (news, mut heard) = mpsc::channel(8);
        let listening = async { while heard.recv().await.is_some() {} };
        let (image, ()) = tokio::join!(ground.provider.prepare_image(&recipe, news), listening);
        let image = format!("image:{}", image?.key);
        Ok((Base { image, sources }, begun.elapsed()))
    }

    /// How long `git status` takes on the host.
    pub fn status(&self) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        git(&self.checkout, &["status", "--porcelain"])?;
        Ok(begun.elapsed())
    }
}

/// Snapshots of the same checkout on the host: what somebody without sandboxes would take for a second workspace in no
/// time. The kernel knows none of its files yet, as in a new sandbox.
#[derive(Debug)]
pub struct Snapshots {
    place: PathBuf,
    made: usize,
}

impl Snapshots {
    /// In a directory on a btrfs; the reason where they cannot be made.
    pub fn make(repository: &Repository, pool: &Path) -> Result<Self, String> {
        let place = pool.join("bench");
        let checkout = place.join("checkout");
        let make = || {
            std::fs::create_dir_all(&place)?;
            run("btrfs", &["subvolume", "create", &checkout.to_string_lossy()])?;
            let bare = repository.bare.to_string_lossy();
            git(&checkout, &["clone", "--quiet", "--shared", &bare, "."])?;
            // Git looks again at files that are as young as its index.
            git(&checkout, &["status", "--porcelain"])
        };
        make().map(|()| Self { place, made: 0 }).map_err(|error: anyhow::Error| error.to_string())
    }

    /// How long the first `git status` takes in a new one.
    pub fn status(&mut self) -> anyhow::Result<Duration> {
        self.made += 1;
        let (from, to) = (self.place.join("checkout"), self.place.join(self.made.to_string()));
        run("btrfs", &["subvolume", "snapshot", &from.to_string_lossy(), &to.to_string_lossy()])?;
        let begun = Instant::now();
        git(&to, &["status", "--porcelain"])?;
        let took = begun.elapsed();
        run("btrfs", &["subvolume", "delete", &to.to_string_lossy()])?;
        Ok(took)
    }
}

/// Writes everything as one commit, without a file in between.
fn import(bare: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    command.arg("-C").arg(bare).args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut child = command.spawn().context("git")?;
    let mut stream = BufWriter::new(child.stdin.take().context("git takes no input")?);
    writeln!(
        stream,
        "commit refs/heads/main\ncommitter Bench <bench@example.com> 1700000000 +0000"
    )?;
    writeln!(stream, "data 5\nfirst")?;
    for number in 0..FILES {
        let text = content(number);
        let (directory, file) = (number / IN_ONE_DIRECTORY, number % IN_ONE_DIRECTORY);
        let (area, directory) = (directory / 25, directory % 25);
        writeln!(stream, "M 100644 inline area{area}/part{directory}/file{file}.rs")?;
        writeln!(stream, "data {}\n{text}", text.len())?;
    }
    stream.flush()?;
    drop(stream);
    let status = child.wait()?;
    ensure!(status.success(), "git fast-import ended with {status}");
    Ok(())
}

/// About as long as a source file is: 0.4 to 4 KiB.
fn content(number: usize) -> String {
    let lines = 10 + number * 7 % 90;
    let line = format!("pub const PART_OF_{number}: usize = {number};\n");
    line.repeat(lines)
}

fn git(at: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let at = at.to_string_lossy();
    let all: Vec<&str> = ["-C", &at].into_iter().chain(arguments.iter().copied()).collect();
    run("git", &all)
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    let output =
        command.args(arguments).stdin(Stdio::null()).output().context(program.to_owned())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.success(),
        "{program} {arguments:?} ended with {}: {said}",
        output.status
    );
    Ok(())
}
