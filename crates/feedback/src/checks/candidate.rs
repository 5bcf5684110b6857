//! Something that may become a check.

use std::collections::BTreeSet;

use super::{
    check::{Confidence, Directory, Kind},
    classify::Ecosystem,
    deed::{Deed, Does, Rest, Scope},
    units::Unit,
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
    pub(super) does: Does,
    pub(super) scope: Scope,
    pub(super) source: Source,
    pub(super) confidence: Confidence,
    pub(super) file: String,
    /// Why it was chosen, as a sentence.
    pub(super) reason: String,
}

/// Something that looks like a check and is none, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub command: String,
    pub file: String,
    pub reason: String,
}

/// Where something stands: a file, and a line where one is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) line: usize,
}

impl Place<'_> {
    pub(super) fn words(self) -> String {
        match self.line {
            0 => format!("`{}`", self.file),
            line => format!("`{}`, line {line}", self.file),
        }
    }
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
        let words = command.replace("python3 -m ", "");
        let about = directory.clone();
        let deed = Deed { kind, ecosystem, about, scope: Scope::Plain, words };
        Self {
            kind,
            command: command.to_owned(),
            directory: directory.clone(),
            about: directory.clone(),
            ecosystems: BTreeSet::from([ecosystem]),
            does: Does { deeds: BTreeSet::from([deed]), rest: Rest::Nothing },
            scope: Scope::Plain,
            source: Source::Habit,
            confidence: Confidence::Guessed,
            file: file.to_owned(),
            reason: format!("`{file}` is there, and this is what such a project is asked"),
        }
    }

    /// What somebody wrote down; `says` is who, as the beginning of a sentence.
    pub(super) fn written(
        unit: Unit,
        source: Source,
        confidence: Confidence,
        place: Place<'_>,
        says: &str,
    ) -> Self {
        let reason = match &unit.through {
            Some(through) => format!("{says} ({}); {through}", place.words()),
            None => format!("{says} ({})", place.words()),
        };
        let ecosystems = unit.does.ecosystems();
        let Unit { kind, command, directory, about, does, scope, .. } = unit;
        let file = place.file.to_owned();
        Self {
            kind,
            command,
            directory,
            about,
            ecosystems,
            does,
            scope,
            source,
            confidence,
            file,
            reason,
        }
    }

    /// Whether another one, if this one is run, would only do the same again.
    pub(super) fn stands_for(&self, other: &Self) -> bool {
        let same_command = self.command == other.command && self.directory == other.directory;
        same_command || self.does_again(other) || self.is_believed_more(other)
    }

    /// All that the other does is done by this one. A part that people wrote down is not given up for a whole that is only a guess.
    fn does_again(&self, other: &Self) -> bool {
        let is_risky = self.source == Source::Habit && other.source < Source::Habit;
        self.does.covers(&other.does) && !is_risky
    }

    /// Somebody who is believed more says what this kind of check is here. One that is only a part or a variant does not stand for the
    /// plain one.
    fn is_believed_more(&self, other: &Self) -> bool {
        let same_place = self.about == other.about && self.kind == other.kind;
        let same_tools =
            self.ecosystems.is_empty() || self.ecosystems.is_superset(&other.ecosystems);
        // Of linters there may be several; of tests, CI's are the tests.
        let same_work = match other.kind {
            Kind::Test | Kind::Build => true,
            Kind::Format | Kind::Lint => self.does.shares_tools(&other.does),
        };
        self.source < other.source
            && same_place
            && same_tools
            && same_work
            && (self.scope == Scope::Plain || other.kind == Kind::Build)
    }
}
