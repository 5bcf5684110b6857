//! Checks, one after the other, in a sandbox that nothing has run in before.
//!
//! A run can leave something for the next one: a mark in a temporary directory, a file in the home that every program of a language loads.
//! So a check that is run again is run in a sandbox of its own round. What stood before it the first time is run before it there too,
//! because it may need what that leaves, and so nothing but chance is different.

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
            let run = runner.run(check, number * MOST + self.number).await?;
            runs.push(wanted.then_some(run));
        }
        runs.resize(wanted.len(), None);
        let coverage = runner.coverage().await;
        Ok(Seen { runs, coverage })
    }
}
