//! The checks on the commit that the change began from. What they did there is not the change's fault (FB3).
//!
//! The same commit, command, image (with the host's tools, where they are the image), hooks, variables and other repositories give the
//! same answer, so it is kept on this host, and found again by the next attempt and the next task. Losing it costs a run.

use contracts::outfit::Outfit;
use domain::{code::CommitId, task::Purpose};
use feedback::{
    checks::Check,
    verdict::{Baseline, baseline_key},
};

use super::{
    super::{Scene, Trouble, open, refused},
    choice::Chosen,
    rounds::{self, Again, Company, Round},
};
use crate::{
    Hands,
    captured::{Captured, Ending},
};

const AGAIN: Again = Again { alone: "baseline again", all: "baseline once more" };

/// For each check its runs on the base commit.
pub(super) async fn runs<H: Hands>(
    scene: &Scene<'_, H>,
    outfit: &Outfit,
    base: &CommitId,
    chosen: &Chosen,
) -> Result<Vec<Vec<Captured>>, Trouble> {
    let repository = scene.repository()?;
    let around = around(scene, base).await?;
    let key = |check: &Check| {
        let declared = outfit.checks.iter().find(|it| it.name == check.name);
        baseline_key(&Baseline {
            repository,
            commit: base,
            check,
            image: outfit.digest,
            platform_version: env!("CARGO_PKG_VERSION"),
            report: declared.and_then(|it| it.report.as_deref()),
            around: &around,
        })
    };
    let memory = &scene.engine.settings.baselines;
    let mut known: Vec<Option<Vec<Captured>>> =
        chosen.checks.iter().map(|check| memory.recall(key(check))).collect();
    if known.iter().any(Option::is_none) {
        let fresh = look(scene, outfit, base, chosen, &known).await?;
        for (known, runs) in known.iter_mut().zip(fresh) {
            if known.is_none() {
                *known = Some(runs);
            }
        }
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

/// What the sandbox of a run is made of besides its image and its commit, as far as the result can depend on it.
async fn around<H: Hands>(
    scene: &Scene<'_, H>,
    base: &CommitId,
) -> Result<Vec<(String, String)>, Trouble> {
    let sandbox = scene.side_sandbox("baseline");
    let spec = open::spec(scene, sandbox, Purpose::Verify, base).await?;
    let compute = spec.compute;
    let mut around = vec![
        ("post clone".to_owned(), spec.hooks.post_clone),
        ("post start".to_owned(), spec.hooks.post_start),
        ("tier".to_owned(), format!("{:?}", spec.tier)),
        ("memory".to_owned(), compute.memory_mib.to_string()),
        ("processes".to_owned(), compute.processes.to_string()),
    ];
    let variables = spec.network.map(|network| network.variables).unwrap_or_default();
    around.extend(variables.into_iter().map(|(name, value)| (format!("variable {name}"), value)));
    let others = spec.sources.into_iter().skip(1);
    around
        .extend(others.map(|it| (format!("repository {}", it.repository), it.commit.to_string())));
    Ok(around)
}

/// Runs what is not known, and once more in another sandbox what failed, if that may be chance: it would excuse the same failure of every
/// change. What a compiler or a linter says of a place in the code is known at once.
async fn look<H: Hands>(
    scene: &Scene<'_, H>,
    outfit: &Outfit,
    commit: &CommitId,
    chosen: &Chosen,
    known: &[Option<Vec<Captured>>],
) -> Result<Vec<Vec<Captured>>, Trouble> {
    let round = Round {
        commit,
        sandbox: "baseline",
        part: "baseline check",
        number: 0,
        company: Company::All,
    };
    let wanted: Vec<bool> = known.iter().map(Option::is_none).collect();
    let first = round.run(scene, outfit, chosen, &wanted).await?;
    let is_doubtful =
        |run: &Option<Captured>| run.as_ref().is_some_and(|run| run.run().may_be_chance());
    let red: Vec<bool> = first.runs.iter().map(is_doubtful).collect();
    let seen: Vec<Option<&Captured>> = first.runs.iter().map(Option::as_ref).collect();
    let again = rounds::again(round, &AGAIN, (scene, outfit, chosen), (&red, &seen)).await?;
    Ok(first.runs.into_iter().zip(again).map(|(a, b)| a.into_iter().chain(b).collect()).collect())
}
