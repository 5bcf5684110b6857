//! What failed on base and is not run on head: it was deleted or skipped, and nobody mended it.

use super::{change::Change, judge::CheckVerdict};

/// How many tests failed on base, and have no outcome on head because they are not run any more.
pub fn gone(verdict: &CheckVerdict) -> u64 {
    let Some(base) = &verdict.base else { return 0 };
    let count = |change| u64::try_from(verdict.count(change)).unwrap_or(u64::MAX);
    let kinds = [
        Change::Fixed,
        Change::NoLongerFails,
        Change::KnownFailure,
        Change::Flaky,
        Change::NotReached,
    ];
    let seen = kinds.into_iter().map(count).fold(0, u64::saturating_add);
    let away = count(Change::Removed).saturating_add(count(Change::NewlySkipped));
    base.counts.tests.failed.saturating_sub(seen).min(away)
}
