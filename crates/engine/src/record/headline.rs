//! What is said of all checks together, and what to do where that is little. Everybody who tells of checks asks here.

use std::collections::BTreeSet;

use domain::headline::{Because, CheckEnded, CheckFacts, Conclusion, Headline, Judged, Purpose};
use feedback::{
    checks::Kind,
    missing::{Missing, missing},
    verdict::Change,
};

use super::{CheckRecord, ChecksRecord, ConclusionRecord, OutcomeRecord};

impl ChecksRecord {
    pub fn headline(&self) -> Headline {
        let judged = match self.conclusion {
            ConclusionRecord::Passes => Judged::Passes,
            ConclusionRecord::Fails => Judged::Fails,
            ConclusionRecord::Unproven => Judged::Unproven,
        };
        let checks: Vec<CheckFacts> = self.checks.iter().map(facts).collect();
        Headline::of(judged, &checks)
    }

    /// What a person can write so that something is proven, one sentence each. Empty where something was.
    pub fn next_steps(&self) -> Vec<String> {
        let Conclusion::Unproven(because) = self.headline().conclusion else { return Vec::new() };
        let absent: BTreeSet<Missing> = self.checks.iter().filter_map(absent).collect();
        let unready = self.unready.iter().map(|reason| {
            format!("what the project needs was not installed: {reason}; `lamp log` has all that it printed")
        });
        let mut steps: Vec<String> =
            unready.chain(absent.iter().map(|it| self.bring(it))).collect();
        let declare = "`checks:` in the agent's file names commands that can fail: checks: [{ name: tests, run: make test }]";
        match because {
            Because::NoCheck | Because::NoTest | Because::AllSkipped | Because::Brought => {
                steps.push(declare.to_owned());
            }
            Because::NotRun | Because::NothingPasses if steps.is_empty() => {
                steps.push("`lamp checks` shows what they printed; `image.setup` in the agent's file installs what they need".to_owned());
            }
            Because::NotRun | Because::NothingPasses => {}
        }
        steps
    }

    fn bring(&self, missing: &Missing) -> String {
        let image = match self.image.as_deref() {
            Some(image) => format!("the image `{image}`"),
            None => "the image".to_owned(),
        };
        match missing {
            Missing::Program(name) => format!(
                "`{name}` was not found in the `PATH` of {image}: write in the agent's file what installs it (`image.setup`), where it is on this \
                 machine (`toolchains`), or other `checks:`"
            ),
            Missing::Module(name) => format!(
                "Python in {image} has no module `{name}`: write in the agent's file what installs it (`image.setup`), or other `checks:`"
            ),
        }
    }
}

impl CheckRecord {
    /// How many of its tests changed in this way, also where not all are named.
    pub fn count(&self, change: Change) -> u64 {
        let word = change.word();
        if !self.changes.is_empty() {
            return self.changes.get(word).copied().unwrap_or(0);
        }
        let named = self.tests.iter().filter(|test| test.change == word).count();
        u64::try_from(named).unwrap_or(u64::MAX)
    }
}

/// What it could not find, where that is why it was not run.
fn absent(check: &CheckRecord) -> Option<Missing> {
    let is_not_run = check.outcome == OutcomeRecord::NotRun && !check.brought;
    is_not_run.then(|| missing(&check.log))?
}

fn facts(check: &CheckRecord) -> CheckFacts {
    let head = check.head.as_ref();
    CheckFacts {
        ended: match check.outcome {
            OutcomeRecord::NotRun if check.brought => CheckEnded::Brought,
            OutcomeRecord::NotRun => CheckEnded::NotRun,
            OutcomeRecord::Passed => CheckEnded::Passed,
            OutcomeRecord::Fixed => CheckEnded::Mended,
            OutcomeRecord::Gone => CheckEnded::Gone,
            OutcomeRecord::Flaky => CheckEnded::Flaky,
            OutcomeRecord::KnownFailure => CheckEnded::KnownFailure,
            OutcomeRecord::Regressed | OutcomeRecord::Unjudged => CheckEnded::Worse,
        },
        purpose: if check.kind == Kind::Test.as_str() { Purpose::Test } else { Purpose::Other },
        tests: head.map_or(0, |side| side.passed.saturating_add(side.failed)),
        skipped: head.map_or(0, |side| side.skipped),
        failing: check.count(Change::KnownFailure),
        mended: check.count(Change::Fixed),
        // Whoever judged that something is gone is believed, also where nobody could count it.
        gone: check.gone.max(u64::from(check.outcome == OutcomeRecord::Gone)),
    }
}
