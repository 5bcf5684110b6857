//! Programs of others that build walls, and where they are.

use std::path::{Path, PathBuf};

/// Where programs of the system are. Not the `PATH` of whoever started the server.
const PLACES: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// A program that builds walls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runtime {
    /// gVisor: a kernel of its own in front of the host's.
    Runsc,
    /// The kernel's own means, as ours, but by the hand of another.
    Runc,
}

impl Runtime {
    pub const fn program(self) -> &'static str {
        match self {
            Self::Runsc => "runsc",
            Self::Runc => "runc",
        }
    }

    /// Where it is installed, if it is.
    pub fn find(self) -> Option<PathBuf> {
        let places = PLACES.iter().map(|place| Path::new(place).join(self.program()));
        places.into_iter().find(|path| path.is_file())
    }
}
