//! Is an agent getting anywhere? (PL6)
//!
//! Two attempts that end with the same failing checks and the same change are one attempt, made
//! twice. The second one stops the loop, however many attempts are left.

use crate::digest::{Digest, Fingerprint};

/// Where one failed attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    failing: Digest,
    change: Digest,
}

impl Footprint {
    /// `failing` are the names of the failing checks, in any order; `change` is the difference to
    /// the base.
    pub fn new(failing: &[String], change: Digest) -> Self {
        let mut names: Vec<&String> = failing.iter().collect();
        names.sort();
        names.dedup();
        let failing = Fingerprint::of_kind("lamplighter failing checks 1")
            .list(&names, |hash, name| hash.text(name))
            .finish();
        Self { failing, change }
    }

    pub const fn from_parts(failing: Digest, change: Digest) -> Self {
        Self { failing, change }
    }

    pub const fn failing(&self) -> Digest {
        self.failing
    }

    pub const fn change(&self) -> Digest {
        self.change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repetition_are_not_progress() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let change = Digest::of(b"diff");
        let first = Footprint::new(&names(&["a", "b"]), change);
        assert_eq!(first, Footprint::new(&names(&["b", "a", "a"]), change));
        assert_ne!(first, Footprint::new(&names(&["a"]), change));
        assert_ne!(first, Footprint::new(&names(&["a", "b"]), Digest::of(b"other")));
    }
}
