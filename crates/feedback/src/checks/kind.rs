//! What a check looks at.

use std::fmt;

/// What a check looks at. In the order in which checks are run: without a build there is nothing to test, and a test takes longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Build,
    Format,
    Lint,
    Test,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Format => "format",
            Self::Lint => "lint",
            Self::Test => "test",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
