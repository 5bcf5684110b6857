//! May this change leave its sandbox, and what should a person look at twice?
//!
//! Pure: it is given what git says about the difference between two trees, and the contents one after the other, and judges
//! them. Nothing here trusts a name, a mode, a size or a byte.
//!
//! ```text
//!  git diff-tree ─▶ touched ─▶ Inspector::outline   names, modes, numbers
//!  git ls-tree   ─▶ paths   ─▶ Inspector::meetings  names that are one elsewhere
//!  git cat-file  ─▶ bytes   ─▶ Inspector::content   links, scripts, secrets
//!                              Inspector::verdict   ─▶ flags, or refusals with path, reason and remedy
//! ```
//!
//! Invariant: whatever is not refused can be checked out on any file system without writing outside its directory.

mod content;
mod links;
mod names;
mod opening;
mod packages;
mod policy;
mod scripts;
pub mod secrets;
#[cfg(test)]
mod tests;
mod verdict;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::discriminant,
};

pub use git::{Mode, ObjectName, RawError, Side, Touched, read_touched};
pub use links::stays_inside;
pub use names::{NameFault, check as check_path};
pub use policy::{KnownSecrets, Limits, NoSecrets, Policy, Submodules, Workflows};
pub use verdict::{Flag, FlagKind, Reason, Refusal, Refused};

use crate::shown;

/// More than a person reads at once. What is refused stays refused.
const MOST_REFUSALS: usize = 25;
const MOST_FLAGS: usize = 500;

/// Judges one change.
#[derive(Debug)]
pub struct Inspector<'a, S: KnownSecrets + ?Sized> {
    policy: &'a Policy,
    known: &'a S,
    flags: Vec<Flag>,
    refusals: Vec<Refusal>,
    refused: usize,
    /// Bytes of content so far.
    total: u64,
}

impl<'a, S: KnownSecrets + ?Sized> Inspector<'a, S> {
    pub const fn new(policy: &'a Policy, known: &'a S) -> Self {
        Self { policy, known, flags: Vec::new(), refusals: Vec::new(), refused: 0, total: 0 }
    }

    /// Names, modes and numbers: everything that can be said without reading a content.
    pub fn outline(&mut self, touched: &[Touched]) {
        if touched.len() > self.policy.limits.files {
            let reason =
                Reason::ManyFiles { files: touched.len(), limit: self.policy.limits.files };
            self.refuse(b"", reason);
        }
        for one in touched {
            self.one(one);
        }
    }

    /// How large a new content is.
    pub fn size(&mut self, path: &[u8], bytes: u64) {
        let limits = &self.policy.limits;
        if bytes > limits.file_bytes {
            self.refuse(path, Reason::LargeFile { bytes, limit: limits.file_bytes });
        }
        let (before, limit) = (self.total, limits.total_bytes);
        self.total = self.total.saturating_add(bytes);
        if before <= limit && self.total > limit {
            self.refuse(b"", Reason::LargeChange { limit });
        }
    }

    /// Whether anything speaks against it so far. What is too large need not be read.
    pub const fn is_refused(&self) -> bool {
        self.refused > 0
    }

    /// The flags, or all that speaks against it.
    pub fn verdict(self) -> Result<Vec<Flag>, Refused> {
        if self.refused == 0 {
            return Ok(self.flags);
        }
        Err(Refused { more: self.refused - self.refusals.len(), refusals: self.refusals })
    }

    fn one(&mut self, touched: &Touched) {
        let path = touched.path.as_slice();
        if self.known.is_in(path) {
            self.refuse(path, Reason::KnownSecret);
        }
        if let Some(what) = opening::workflow(path) {
            match self.policy.workflows {
                Workflows::NeedApproval => self.refuse(path, Reason::Workflow { what }),
                Workflows::Approved => self.flag(path, FlagKind::Workflow { what }),
            }
        }
        if let Some(what) = opening::runs(path) {
            self.flag(path, FlagKind::RunsWhenOpened { what });
        }
        if let Some(what) = opening::instructs(path) {
            self.flag(path, FlagKind::Instructs { what });
        }
        if let Some(kind) = opening::steers_git(path) {
            self.flag(path, kind);
        }
        // What goes away writes nothing anywhere, whatever it is called.
        let Some(after) = &touched.after else { return };
        if let Err(fault) = names::check(path, &self.policy.limits) {
            self.refuse(path, Reason::Name(fault));
        }
        let before = touched.before.as_ref().map(|before| before.mode);
        match after.mode {
            Mode::File => {}
            Mode::Executable if before == Some(Mode::Executable) => {}
            Mode::Executable => self.flag(path, FlagKind::BecameExecutable),
            Mode::Symlink if opening::must_be_a_file(path) => {
                self.refuse(path, Reason::LinkForGit);
            }
            Mode::Symlink => self.flag(path, FlagKind::Link),
            Mode::Submodule => self.submodule(path),
            Mode::Other(mode) => self.refuse(path, Reason::Mode { mode }),
        }
    }

    fn submodule(&mut self, path: &[u8]) {
        match self.policy.submodules {
            Submodules::Refused => self.refuse(path, Reason::Submodule),
            Submodules::Allowed => self.flag(path, FlagKind::Submodule),
        }
    }

    /// Finds new names that are one with another name on some file systems: the second would be written through the first.
    /// `standing` are the paths of the whole new tree.
    pub fn meetings<'p>(&mut self, touched: &[Touched], standing: impl Iterator<Item = &'p [u8]>) {
        let is_new = |one: &&Touched| one.before.is_none() && one.after.is_some();
        let paths = touched.iter().filter(is_new).filter_map(|one| str::from_utf8(&one.path).ok());
        let new: BTreeMap<String, &str> = paths
            .flat_map(names::leading)
            .map(|written| (names::folded(written), written))
            .collect();
        if new.is_empty() {
            return;
        }
        let mut met = BTreeSet::new();
        for path in standing.filter_map(|path| str::from_utf8(path).ok()) {
            for written in names::leading(path) {
                let other = new.get(&names::folded(written)).filter(|other| **other != written);
                if let Some(other) = other
                    && met.insert(*other)
                {
                    self.refuse(other.as_bytes(), Reason::Meets { other: written.to_owned() });
                }
            }
        }
    }

    fn refuse(&mut self, path: &[u8], reason: Reason) {
        self.refused += 1;
        if self.refusals.len() < MOST_REFUSALS {
            self.refusals.push(Refusal { path: shown::line(path, 300), reason });
        }
    }

    fn flag(&mut self, path: &[u8], kind: FlagKind) {
        // Of each kind, so that a crowd of one does not hide another.
        let of_a_kind = discriminant(&kind);
        let known = self.flags.iter().filter(|flag| discriminant(&flag.kind) == of_a_kind).count();
        if known < MOST_FLAGS {
            self.flags.push(Flag { path: shown::line(path, 300), kind });
        }
    }
}
