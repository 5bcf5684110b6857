//! Tokens, counted in one way; each wire format tells them in its own.

use std::ops::AddAssign;

use serde::Serialize;

/// What an answer says that it used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Input that did not come from a cache.
    pub input: u64,
    /// Input that came from a cache.
    pub cached: u64,
    pub output: u64,
}

impl Usage {
    /// What a step tells that does not say what it used.
    pub const USUAL: Self = Self { input: 1000, cached: 200, output: 50 };

    /// All input, as those count it who do not take the cached part off.
    pub(super) fn prompt(self) -> u64 {
        self.input.saturating_add(self.cached)
    }

    pub(super) fn total(self) -> u64 {
        self.prompt().saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.cached = self.cached.saturating_add(more.cached);
        self.output = self.output.saturating_add(more.output);
    }
}
