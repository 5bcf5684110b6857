//! What the runs themselves tell: tests that ran on base, and do not on head.

use super::{
    super::{Change, Verdict},
    Found, Weakened, Weakening,
};

/// Tests that are gone or skipped in the runs. Renamed ones are among them: a run has names, and no code to know them by.
pub fn in_runs(verdict: &Verdict) -> Found {
    let mut found = Found::default();
    for check in &verdict.checks {
        for test in &check.tests {
            let kind = match test.change {
                Change::Removed => Weakening::GoneFromRun,
                Change::NewlySkipped => Weakening::SkippedInRun,
                Change::Regression
                | Change::NewFailing
                | Change::Flaky
                | Change::KnownFailure
                | Change::Fixed
                | Change::NewPassing
                | Change::NewSkipped
                | Change::NotReached
                | Change::StillSkipped
                | Change::Steady => continue,
            };
            let what = format!("`{}` of `{}`", test.name, check.check.name);
            found.add(Weakened::new(kind, "", None, &what));
        }
    }
    found
}
