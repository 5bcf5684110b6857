//! What the runs themselves tell: tests that ran on base, and do not on head.

use super::{
    super::{Change, CheckVerdict, Ended, Side, Verdict},
    Found, Weakened, Weakening,
};
use crate::naming::{Names, Reach};

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
                | Change::NowFailing
                | Change::FirstFailing
                | Change::Flaky
                | Change::KnownFailure
                | Change::Fixed
                | Change::NoLongerFails
                | Change::NewPassing
                | Change::FirstPassing
                | Change::NewSkipped
                | Change::NotReached
                | Change::Unnamed
                | Change::StillSkipped
                | Change::Steady => continue,
            };
            let what = format!("`{}` of `{}`", test.name, check.check.name);
            found.add(Weakened::new(kind, "", None, &what));
        }
        if let Some(what) = fewer(check) {
            found.add(Weakened::new(Weakening::GoneFromRun, "", None, &what));
        }
    }
    found
}

/// Where the runs do not name all tests, only their number can tell that some are gone.
fn fewer(check: &CheckVerdict) -> Option<String> {
    let (base, head) = (check.base.as_ref()?, check.head.as_ref()?);
    let (before, after) = (base.counts.tests.all(), head.counts.tests.all());
    let is_cut = |side: &Side| side.reach == Reach::Cut;
    // Some count only what failed.
    let is_counted = head.counts.tests.passed > 0;
    let is_whole = !is_cut(base) && !is_cut(head) && head.ended == Ended::Exited(0) && is_counted;
    (head.names != Names::All && is_whole && after < before).then(|| {
        format!("`{}` had {before} tests, and has {after}; it does not name them", check.check.name)
    })
}
