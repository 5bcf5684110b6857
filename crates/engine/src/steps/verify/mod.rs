//! The platform runs the checks itself, on the exact commit, in a clean sandbox (FB1).
//!
//! ```text
//!  base commit ──▶ which checks? ──▶ runs on base (remembered) ──┐
//!  the change  ─────────────────────▶ runs on head, again if red ─┴▶ verdict ──▶ record ──▶ passed, or back to the agent
//!              ──▶ what it does to the tests ───────────────────────────────────┘
//! ```
//!
//! What the agent claims does not count, and what it makes of the checks neither: those of the base commit are run. Each run that is made to
//! be sure, and each repeat of the step, has another clean sandbox.

mod baseline;
mod capture;
mod choice;
mod cut_off;
mod rounds;
mod tests_touched;

use contracts::outfit::Outfit;
use domain::{
    code::CommitId,
    failure::{Failure, FailureKind},
    progress::Footprint,
    task::{Purpose, Report, Work},
};
use feedback::{
    checks::Check,
    verdict::{Conclusion, Evidence, Outcome as CheckOutcome, Verdict, judge},
};

use self::{
    choice::{Chosen, Origin},
    rounds::{Again, Company, Round},
};
use super::{Done, Outcome, Scene, Trouble, open};
use crate::{
    Hands,
    captured::{Captured, Place, Told},
    record::ChecksRecord,
};

/// The sandboxes in which a check that failed is run again before it is believed: each is another, so that no run finds what one before it
/// has left.
const AGAIN: Again = Again { alone: "verify again", all: "verify once more" };

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let Some(commit) = scene.task.stage.work().and_then(Work::commit) else {
        return Err(scene.failed(FailureKind::Internal, "there is no commit to verify"));
    };
    let missing = || scene.failed(FailureKind::Internal, "there is no change to verify");
    let (base, _, difference) = scene.newest_change().ok_or_else(missing)?;
    let outfit = open::outfit(scene, Purpose::Verify).await?;
    let chosen = choice::choose(scene, &outfit, base, commit).await?;
    let before = baseline::runs(scene, &outfit, base, &chosen).await?;
    let after = on_head(scene, &outfit, commit, &chosen, &before).await?;
    let verdict = verdict(&chosen, &before, &after.runs);
    let touched = tests_touched::look(scene, &chosen, &verdict, (base, commit), &after).await?;
    let runs = (before.as_slice(), after.runs.as_slice());
    let record = ChecksRecord::of((base, commit), &verdict, runs, &touched, &outfit.image)
        .with_left_out(&chosen.left_out);
    let record = ChecksRecord { unready: outfit.unready.clone(), ..record };
    let evidence = scene.keep(&record.to_text())?;
    if let Some(failure) = cut_off::failure(scene, &verdict, &after.runs).await {
        return Err(Trouble::Failed(failure));
    }
    if let Some(failure) = cannot_be_run(scene, &verdict, &after.runs, outfit.unready.as_deref()) {
        return Err(Trouble::Failed(failure));
    }
    let report = match verdict.conclusion {
        // A repository without checks proves nothing. The pull request says so, and a person decides.
        Conclusion::Passes | Conclusion::Unproven => Report::ChecksPassed { evidence },
        Conclusion::Fails => {
            let footprint = Footprint::new(&verdict.failing(), difference);
            Report::ChecksFailed { footprint, evidence }
        }
    };
    Ok(Done::Reports(vec![report]))
}

/// All that was seen of the change.
pub(super) struct Head {
    /// For each check, its runs: the first, and those that were made to be sure.
    runs: Vec<Vec<Captured>>,
    /// Reports of coverage that were found, with where their tools ran.
    coverage: Vec<(Place, Vec<u8>)>,
}

async fn on_head<H: Hands>(
    scene: &Scene<'_, H>,
    outfit: &Outfit,
    commit: &CommitId,
    chosen: &Chosen,
    before: &[Vec<Captured>],
) -> Result<Head, Trouble> {
    let checks = &chosen.checks;
    let round =
        Round { commit, sandbox: "verify", part: "check", number: 0, company: Company::All };
    let all = vec![true; checks.len()];
    let first = round.run(scene, outfit, chosen, &all).await?;
    let mut runs: Vec<Vec<Captured>> =
        first.runs.into_iter().map(|run| run.into_iter().collect()).collect();
    let verdict = verdict(chosen, before, &runs);
    // What fails as it does on base is known already, and is not run again.
    let failed: Vec<&Check> = verdict.wanted_reruns().collect();
    let red: Vec<bool> = checks.iter().map(|check| failed.contains(&check)).collect();
    let seen: Vec<Option<&Captured>> = runs.iter().map(|runs| runs.first()).collect();
    let again = rounds::again(round, &AGAIN, (scene, outfit, chosen), (&red, &seen)).await?;
    for (runs, again) in runs.iter_mut().zip(again) {
        runs.extend(again);
    }
    Ok(Head { runs, coverage: first.coverage })
}

fn verdict(chosen: &Chosen, before: &[Vec<Captured>], after: &[Vec<Captured>]) -> Verdict {
    let evidence = chosen.checks.iter().zip(before).zip(after).map(|((check, before), after)| {
        let told = Told::of(&before.iter().chain(after).collect::<Vec<_>>());
        let runs = |runs: &[Captured]| runs.iter().map(|run| run.run_by(told)).collect();
        Evidence { check: check.clone(), base: runs(before), head: runs(after) }
    });
    let verdict = judge(evidence.collect());
    match chosen.origin {
        Origin::People | Origin::Base => verdict,
        Origin::Change => verdict.of_checks_that_the_change_brings(),
    }
}

/// Checks that could not be run on either side, where nothing else says anything about the change: no agent can mend that.
fn cannot_be_run<H: Hands>(
    scene: &Scene<'_, H>,
    verdict: &Verdict,
    runs: &[Vec<Captured>],
    unready: Option<&str>,
) -> Option<Failure> {
    let blocking: Vec<_> =
        verdict.checks.iter().zip(runs).filter(|(check, _)| check.blocks()).collect();
    let are_missing = blocking.iter().all(|(check, _)| check.outcome == CheckOutcome::NotRun);
    if blocking.is_empty() || !are_missing {
        return None;
    }
    let names: Vec<String> =
        blocking.iter().map(|(check, _)| format!("`{}`", check.check.command)).collect();
    let because = unready.map(|reason| format!("; {reason}")).unwrap_or_default();
    let message = format!("these checks cannot be run in the image: {}{because}", names.join(", "));
    let logs = blocking.iter().filter_map(|(_, runs)| runs.first()).map(Captured::log);
    let failure = Failure::new(FailureKind::DependencyConflict, scene.phase(), message);
    Some(failure.with_log(&logs.collect::<Vec<_>>().join("\n")))
}
