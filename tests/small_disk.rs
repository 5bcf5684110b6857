//! Plays on a small file system until it is full, makes room, and sees whether everything goes on.
//!
//! The test `full_disk` runs it inside a mount namespace, with the mounted directory as its argument.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use tests::{
    arena::{Arena, Ground, pause},
    player::{Doom, Program},
};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the test reads it")]
async fn main() -> anyhow::Result<()> {
    let disk = std::env::args_os().nth(1).map(PathBuf::from).context("which directory?")?;
    let arena = Arena::within(&disk, Ground::Sqlite).await?;
    let mut tasks = Vec::new();
    for number in 0..10 {
        tasks.push(arena.submit(number, "question; red 1").await?);
    }
    let mut engine = Program::beside_us()?.start(&arena, "engine", Doom::Never)?;
    while arena.settled(&tasks).await? == 0 {
        pause(Duration::from_millis(5)).await;
    }
    let ballast = disk.join("ballast");
    fill(&ballast)?;
    let refused = loop {
        match arena.submit(99, "fix it").await {
            Ok(task) => tasks.push(task),
            Err(error) => break format!("{error:#}"),
        }
    };
    ensure!(refused.contains("disk that holds the database is full"), "refused with: {refused}");
    ensure!(engine.is_running()?, "the engine gave up");
    fs_err::remove_file(ballast)?;
    arena.wait(&tasks, Duration::from_mins(1)).await?;
    ensure!(engine.is_running()?, "the engine gave up");
    engine.kill()?;
    let verdict = arena.inspect(&tasks).await?;
    ensure!(verdict.is_clean(), "{verdict}");
    println!("refused while full, went on with room: 0 lost, 0 doubled, 0 orphans");
    Ok(())
}

/// Takes all the room that is left, to the last block.
fn fill(ballast: &Path) -> anyhow::Result<()> {
    let mut file = fs_err::File::create(ballast)?;
    for size in [64 * 1024, 4096, 512] {
        let block = vec![0; size];
        while file.write_all(&block).is_ok() {}
    }
    Ok(())
}
