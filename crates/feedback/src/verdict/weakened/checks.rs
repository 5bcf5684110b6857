//! Checks that a repository had on base and has not on head.
//!
//! A change that edits the Makefile or a workflow file can take its own judge away. So the checks of the base commit are the ones to run;
//! what the change makes of them is told.

use super::{Found, Weakened, Weakening};
use crate::checks::Check;

/// Both lists as they are declared in or detected from the two commits.
pub fn lost_checks(base: &[Check], head: &[Check]) -> Found {
    let mut found = Found::default();
    let is_known = |list: &[Check], check: &Check| {
        list.iter()
            .any(|other| other.command == check.command && other.directory == check.directory)
    };
    for old in base.iter().filter(|old| !is_known(head, old)) {
        let instead = head.iter().find(|new| {
            new.kind == old.kind && new.directory == old.directory && !is_known(base, new)
        });
        let (kind, what) = match instead {
            Some(new) => {
                (Weakening::CheckChanged, format!("`{}` is now `{}`", old.command, new.command))
            }
            None => (Weakening::CheckRemoved, format!("`{}` in `{}`", old.command, old.directory)),
        };
        found.add(Weakened::new(kind, &old.why.file, None, &what));
    }
    found
}
