//! How many tests passed, failed and were skipped.

/// How many tests ended how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Tally {
    /// The larger of both, for each.
    pub(crate) fn or_more(self, other: Self) -> Self {
        Self {
            passed: self.passed.max(other.passed),
            failed: self.failed.max(other.failed),
            skipped: self.skipped.max(other.skipped),
        }
    }

    /// All of them together.
    pub fn all(self) -> u64 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }
}
