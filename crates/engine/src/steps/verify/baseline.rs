//! The checks on the commit that the change began from. What they did there is not the change's fault (FB3).
//!
//! The same commit, command and image (with the host's tools, where they are the image) give the same answer, so it is kept on this host, and found again by the next attempt and the next
//! task. Losing it costs a run.

use contracts::outfit::Outfit;
use domain::{code::CommitId, task::Purpose};
use feedback::{
    checks::Check,
    verdict::{Baseline, baseline_key},
};

use super::{
    super::{Scene, Trouble, refused, side},
    capture::{Captured, Ending, Runner},
    choice::Chosen,
};
use crate::Hands;

/// For each check its runs on the base commit.
pub(super) async fn runs<H: Hands>(
    scene: &Scene<'_, H>,
    outfit: &Outfit,
    base: &CommitId,
    chosen: &Chosen,
) -> Result<Vec<Vec<Captured>>, Trouble> {
    let repository = scene.repository()?;
    let key = |check: &Check| {
        baseline_key(&Baseline {
            repository,
            commit: base,
            check,
            image: outfit.digest,
            platform_version: env!("CARGO_PKG_VERSION"),
        })
    };
    let memory = &scene.engine.settings.baselines;
    let mut known: Vec<Option<Vec<Captured>>> =
        chosen.checks.iter().map(|check| memory.recall(key(check))).collect();
    if known.iter().any(Option::is_none) {
        let sandbox = scene.side_sandbox("baseline");
        side::open(scene, sandbox, Purpose::Verify, base).await?;
        let runner =
            Runner { scene, sandbox, declared: &outfit.checks, chosen, part: "baseline check" };
        let seen = missing(&runner, &chosen.checks, &mut known).await;
        side::close(scene, sandbox, seen).await?;
        // Whoever was refused a host may pass when it is allowed, and then the change would be praised for it.
        let was_cut_off = refused::hosts(scene).await.is_ok_and(|hosts| !hosts.is_empty());
        for (check, runs) in chosen.checks.iter().zip(&known) {
            let Some(runs) = runs else { continue };
            let has_passed = runs.iter().any(|run| run.ending == Ending::Exited(0));
            // Nor is a command kept that was not there: whoever installs it must not meet that again.
            let was_run = runs.iter().all(|run| run.run().was_run());
            if was_run && (has_passed || !was_cut_off) {
                memory.remember(key(check), runs);
            }
        }
    }
    Ok(known.into_iter().map(Option::unwrap_or_default).collect())
}

async fn missing<H: Hands>(
    runner: &Runner<'_, '_, H>,
    checks: &[Check],
    known: &mut [Option<Vec<Captured>>],
) -> Result<(), Trouble> {
    for ((number, check), known) in (0..).zip(checks).zip(known) {
        if known.is_some() {
            continue;
        }
        let mut runs = vec![runner.run(check, 2 * number).await?];
        // One failure may be chance, and would excuse the same failure of every change.
        if runs.iter().all(|run| run.ending != Ending::Exited(0)) {
            runs.push(runner.run(check, 2 * number + 1).await?);
        }
        *known = Some(runs);
    }
    Ok(())
}
