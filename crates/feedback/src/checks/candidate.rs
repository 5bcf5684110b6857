//! Something that may become a check.

use std::collections::BTreeSet;

use super::{
    check::{Confidence, Directory, Kind},
    classify::Ecosystem,
};

/// Who says that it is one, the most believed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// CI runs it.
    Workflow,
    /// A Makefile, a justfile, tox or nox has it as a target.
    Target,
    /// `package.json` has it as a script.
    Script,
    /// The ecosystem does so.
    Habit,
}

#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) kind: Kind,
    pub(super) command: String,
    /// Where it is run.
    pub(super) directory: Directory,
    /// Where its code is: not where it is run, for `make -C web test`.
    pub(super) about: Directory,
    /// Whose tools it uses; nothing where that is not known, and then it may do everything.
    pub(super) ecosystems: BTreeSet<Ecosystem>,
    pub(super) source: Source,
    pub(super) confidence: Confidence,
    pub(super) file: String,
}

impl Candidate {
    /// What the ecosystem's people would run, because there is this file.
    pub(super) fn habit(
        kind: Kind,
        ecosystem: Ecosystem,
        command: &str,
        directory: &Directory,
        file: &str,
    ) -> Self {
        Self {
            kind,
            command: command.to_owned(),
            directory: directory.clone(),
            about: directory.clone(),
            ecosystems: BTreeSet::from([ecosystem]),
            source: Source::Habit,
            confidence: Confidence::Guessed,
            file: file.to_owned(),
        }
    }

    /// Whether another one, if this one is run, would only do the same again.
    pub(super) fn stands_for(&self, other: &Self) -> bool {
        let same_command = self.command == other.command && self.directory == other.directory;
        let same_place = self.about == other.about && self.kind == other.kind;
        let same_tools =
            self.ecosystems.is_empty() || self.ecosystems.is_superset(&other.ecosystems);
        same_command || (self.source < other.source && same_place && same_tools)
    }
}
