//! Many at once: how many come and go in a second, how many stand side by side, and what one of them costs.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use contracts::sandbox::Sandboxes as _;
use domain::id::SandboxId;
use fs_err as fs;
use tokio::task::JoinSet;

use super::{
    floor::PROGRAM,
    ground::{Base, Ground, rest},
};

/// How many are opened at the same time when many are.
const MAKERS: usize = 8;

/// Creates and destroys with so many callers at once for about `time`; says how many per second. What is cleared away in the
/// background counts: the clock stops when nothing is left.
pub async fn come_and_go(ground: &Ground, callers: usize, time: Duration) -> anyhow::Result<f64> {
    let before = ground.disks()?;
    let begun = Instant::now();
    let end = begun + time;
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let ground = ground.clone();
        running.spawn(async move {
            let mut count = 0_u32;
            while Instant::now() < end {
                let id = ground.open(&Base::host()).await?;
                ground.destroy(id).await?;
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(joined) = running.join_next().await {
        count += joined??;
    }
    ground.until_disks(before).await?;
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

/// Opens so many, and leaves them.
pub async fn park(ground: &Ground, base: &Base, many: usize) -> anyhow::Result<Vec<SandboxId>> {
    let mut running = JoinSet::new();
    for maker in 0..MAKERS {
        let (ground, base) = (ground.clone(), base.clone());
        running.spawn(async move {
            let mut ids = Vec::new();
            for _ in (maker..many).step_by(MAKERS) {
                ids.push(ground.open(&base).await?);
            }
            anyhow::Ok(ids)
        });
    }
    let mut ids = Vec::new();
    while let Some(joined) = running.join_next().await {
        ids.extend(joined??);
    }
    Ok(ids)
}

/// Destroys them all, and waits until nothing is left: no disk, no socket, no process.
pub async fn clear(ground: &Ground, ids: Vec<SandboxId>) -> anyhow::Result<()> {
    let first: Vec<u32> = ids.iter().filter_map(|id| ground.first_process(*id).ok()).collect();
    let disks = ground.disks()?.saturating_sub(ids.len());
    for id in ids {
        ground.destroy(id).await?;
    }
    ground.until_disks(disks).await?;
    let alive = first.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).count();
    let (listed, sockets) = (ground.provider.list().await?.len(), ground.sockets()?);
    ensure!(
        alive == 0 && listed == 0 && sockets == 0,
        "left: {alive} processes, {listed} in the list, {sockets} sockets"
    );
    Ok(())
}

/// Private memory of all processes of an idle sandbox, in KiB: what the machine would have back without it.
pub async fn private_kib(ground: &Ground) -> anyhow::Result<u64> {
    let id = ground.open(&Base::host()).await?;
    ground.exec(id, &[PROGRAM], "/").await?;
    rest(Duration::from_millis(200)).await;
    let first = ground.first_process(id)?;
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let inside = namespace(&first.to_string()).context("its first process is gone")?;
    let mut kib = 0;
    for process in fs::read_dir("/proc")? {
        let pid = process?.file_name().to_string_lossy().into_owned();
        if pid.starts_with(|c: char| c.is_ascii_digit())
            && namespace(&pid).as_ref() == Some(&inside)
        {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
            let private = text.lines().filter(|line| line.starts_with("Private_"));
            let sizes =
                private.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib += sizes.sum::<u64>();
        }
    }
    ensure!(kib > 0, "its first process has no memory?");
    ground.destroy(id).await?;
    Ok(kib)
}

/// What the kernel could still give out, in KiB.
pub fn available_kib() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).context("no MemAvailable")?;
    Ok(kib.parse()?)
}
