//! Whose word a layer is.

use std::fmt;

/// Who speaks. The order is the order of authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerKind {
    /// The security team's `policy.yaml`.
    Organisation,
    /// The platform team's `lamp.yaml`.
    Platform,
    /// A repository's `agents/*.yaml`.
    Repository,
    /// The conditions of one approval.
    Approval,
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Organisation => "organisation",
            Self::Platform => "platform",
            Self::Repository => "repository",
            Self::Approval => "approval",
        })
    }
}
