//! Whose sandboxes a launcher makes.

use rustix::process::geteuid;

/// Whose sandboxes this launcher makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    Root,
    Ordinary,
}

impl Power {
    pub(crate) fn of_this_process() -> Self {
        if geteuid().is_root() { Self::Root } else { Self::Ordinary }
    }
}
