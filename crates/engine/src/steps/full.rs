//! Whether a step failed because its sandbox had no room left on its disk (PL8, `disk_full`).
//!
//! Two witnesses are heard. From outside: how much of the disk is used. From inside: the words that the system has for it, in the last
//! lines of what failed. A file system reserves before it writes, so it may say no long before the disk looks full from outside.

use contracts::sandbox::Sandboxes as _;
use domain::id::SandboxId;

use super::Scene;
use crate::Hands;

/// From here on a disk is full, in hundredths, whatever anybody says.
const FULL: u64 = 95;

/// How ENOSPC and EDQUOT read.
const WORDS: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// That there was no room, in words; none where there is. `log` is what was printed last.
pub(super) async fn told<H: Hands>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
    log: &[String],
) -> Option<String> {
    let (used, limit) = room(scene, sandbox).await?;
    is_full(used, limit, log)
        .then(|| format!("there is no room left on its disk of {} MiB", limit >> 20))
}

fn is_full(used: u64, limit: u64, log: &[String]) -> bool {
    let is_said = log.iter().any(|line| WORDS.iter().any(|words| line.contains(words)));
    is_said || used.saturating_mul(100) >= limit.saturating_mul(FULL)
}

/// The bytes that are used, and those that there are. A sandbox that is gone tells nothing.
async fn room<H: Hands>(scene: &Scene<'_, H>, sandbox: SandboxId) -> Option<(u64, u64)> {
    let sandboxes = scene.hands().sandboxes();
    let used = sandboxes.stats(sandbox).await.ok()?.disk_bytes;
    let listed = sandboxes.list().await.ok()?;
    let limit = listed.iter().find(|it| it.id == sandbox)?.compute.disk_mib;
    Some((used, u64::from(limit) << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_full_when_it_looks_so_or_when_the_system_says_so() {
        let said = ["dd: error writing 'x': Disk quota exceeded".to_owned()];
        for (used, log, expected) in [(96, &[][..], true), (50, &[], false), (50, &said, true)] {
            assert_eq!(is_full(used, 100, log), expected, "{used} {log:?}");
        }
    }
}
