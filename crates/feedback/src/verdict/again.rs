//! When a failed run is run again, and what the second run is good for.

use std::collections::BTreeSet;

use super::run::{Ended, Run, State};
use crate::{finding::Kind, location::Location, test::TestName};

impl Run {
    /// Whether it failed in a way that another run of the same commit could do without. A compiler or a linter that names a place in the
    /// code says the same each time, and so does a shell that does not find a command.
    pub fn may_be_chance(&self) -> bool {
        match self.state() {
            State::Passed | State::NotRun => false,
            State::Stopped => true,
            State::Failed => {
                let is_in_the_code = self.report.findings().iter().any(|finding| {
                    finding.kind == Kind::Error && matches!(finding.place, Location::Inside { .. })
                });
                let tests_fail = self.report.counts().tests.failed > 0;
                tests_fail || !is_in_the_code
            }
        }
    }

    /// Whether `again` failed as this one did: then a check that was run without the ones before it has shown that it does not fail
    /// because of them, nor by chance.
    pub fn failed_as(&self, again: &Self) -> bool {
        let failing = |run: &Self| -> BTreeSet<TestName> {
            let tests = run.report.tests().iter();
            tests.filter(|test| test.outcome.is_failure()).map(|test| test.name.clone()).collect()
        };
        let both_failed = self.state() != State::Passed && self.state() == again.state();
        let same_end = match (&self.ended, &again.ended) {
            (Ended::Exited(first), Ended::Exited(second)) => first == second,
            _ => true,
        };
        both_failed
            && same_end
            && self.tests() == again.tests()
            && self.report.counts().errors == again.report.counts().errors
            && failing(self) == failing(again)
    }
}
