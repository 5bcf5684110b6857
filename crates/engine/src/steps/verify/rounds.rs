//! Checks, one after the other, in a sandbox that nothing has run in before.
//!
//! A run can leave something for the next one: a mark in a temporary directory, a file in the home that every program of a language loads.
//! So a check that is run again is run in a sandbox of its own round, that nothing has run in before.
//!
//! What stood before a check the first time used to be run before it again, because it may need what that leaves, and so that nothing but
//! chance was different. That made one red check cost all checks, each time. Now it is run again with only what it needs: builds, and
//! commands that nobody understands. What is different then could excuse a change, so such a run may only confirm: where it fails as the
//! first did, that is what happens. Where it does not, it is thrown away, and all is run again as it was, in one more sandbox.
//!
//! ```text
//!  all checks ──▶ red? ──▶ could be chance? ──▶ alone, elsewhere ──▶ fails the same: sure
//!                                                                └─▶ anything else: all before it again, elsewhere; that counts
//! ```

use contracts::outfit::Outfit;
use domain::{code::CommitId, task::Purpose};

use super::{
    super::{Scene, Trouble, side},
    capture::Runner,
    choice::Chosen,
};
use crate::{
    Hands,
    captured::{Captured, Place},
};

/// No check is run more often on one commit: it numbers the runs, so that each has a key of its own.
const MOST: u32 = 8;

/// Which round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round<'a> {
    pub(super) commit: &'a CommitId,
    /// The name of its sandbox.
    pub(super) sandbox: &'static str,
    /// The name of its runs.
    pub(super) part: &'static str,
    /// 0 for the first on this commit.
    pub(super) number: u32,
    pub(super) company: Company,
}

/// What is run before a check that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// All that stand before it.
    All,
    /// Only those whose leavings it may need.
    Needed,
}

/// The sandboxes in which a red check is run again: with what it needs, and with all before it.
pub(super) struct Again {
    pub(super) alone: &'static str,
    pub(super) all: &'static str,
}

/// What was seen in one.
pub(super) struct Seen {
    /// For each check its run, where one was wanted.
    pub(super) runs: Vec<Option<Captured>>,
    /// Reports of coverage that were found, with where their tools ran.
    pub(super) coverage: Vec<(Place, Vec<u8>)>,
}

impl Round<'_> {
    /// Runs the checks that are `wanted`, by their place among the chosen, and those before them.
    pub(super) async fn run<H: Hands>(
        &self,
        scene: &Scene<'_, H>,
        outfit: &Outfit,
        chosen: &Chosen,
        wanted: &[bool],
    ) -> Result<Seen, Trouble> {
        let sandbox = scene.side_sandbox(self.sandbox);
        side::open(scene, sandbox, Purpose::Verify, self.commit).await?;
        let runner = Runner { scene, sandbox, declared: &outfit.checks, chosen, part: self.part };
        let seen = self.look(&runner, wanted).await;
        side::close(scene, sandbox, seen).await
    }

    async fn look<H: Hands>(
        &self,
        runner: &Runner<'_, '_, H>,
        wanted: &[bool],
    ) -> Result<Seen, Trouble> {
        let last = wanted.iter().rposition(|wanted| *wanted);
        let needed = last.map_or(0, |last| last + 1);
        runner.clear_coverage().await;
        let mut runs = Vec::with_capacity(wanted.len());
        for ((number, check), wanted) in (0..).zip(&runner.chosen.checks).zip(wanted).take(needed) {
            let is_run = *wanted || self.company == Company::All || check.may_be_needed();
            if !is_run {
                runs.push(None);
                continue;
            }
            let run = runner.run(check, number * MOST + self.number).await?;
            runs.push(wanted.then_some(run));
        }
        runs.resize(wanted.len(), None);
        let coverage = runner.coverage().await;
        Ok(Seen { runs, coverage })
    }
}

/// Runs red checks again: `red` by their place, `first` what was seen of each. Gives for each of them the run that counts.
pub(super) async fn again<H: Hands>(
    first_round: Round<'_>,
    sandboxes: &Again,
    (scene, outfit, chosen): (&Scene<'_, H>, &Outfit, &Chosen),
    (red, first): (&[bool], &[Option<&Captured>]),
) -> Result<Vec<Option<Captured>>, Trouble> {
    if !red.contains(&true) {
        return Ok(vec![None; red.len()]);
    }
    let number = first_round.number;
    let alone = Round {
        sandbox: sandboxes.alone,
        number: number + 1,
        company: Company::Needed,
        ..first_round
    };
    let mut runs = alone.run(scene, outfit, chosen, red).await?.runs;
    let mut doubtful = vec![false; red.len()];
    for ((run, first), doubtful) in runs.iter_mut().zip(first).zip(&mut doubtful) {
        let (Some(again), Some(first)) = (&run, first) else { continue };
        if !first.run().failed_as(&again.run()) {
            *run = None;
            *doubtful = true;
        }
    }
    if doubtful.contains(&true) {
        let all = Round {
            sandbox: sandboxes.all,
            number: number + 2,
            company: Company::All,
            ..first_round
        };
        let seen = all.run(scene, outfit, chosen, &doubtful).await?;
        for (run, seen) in runs.iter_mut().zip(seen.runs) {
            *run = run.take().or(seen);
        }
    }
    Ok(runs)
}
