//! What a check does, taken apart: the unit in which doubles are found.

use std::collections::BTreeSet;

use super::{
    check::{Directory, Kind},
    classify::Ecosystem,
};

/// How much of a tool's ordinary work one command asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// What somebody would type without thinking: all of it.
    Plain,
    /// Some of it: one program, one mark, one file.
    Part,
    /// All of it, built in another way: other features, other tags.
    Variant,
    /// A build that ordinary tests are not written for: another cfg, another memory model, a sanitizer.
    Special,
}

/// One thing that a tool is asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deed {
    pub(super) kind: Kind,
    pub(super) ecosystem: Ecosystem,
    /// Where the code is that it looks at.
    pub(super) about: Directory,
    pub(super) scope: Scope,
    /// The command, without what only says how it is shown.
    pub(super) words: String,
}

/// All that a command does, as far as it was understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Does {
    pub(super) deeds: BTreeSet<Deed>,
    /// Whether something is done besides that nobody here understands.
    pub(super) rest: Rest,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Rest {
    #[default]
    Nothing,
    Unknown,
}

impl Deed {
    /// Whether whoever does this has done `other` too.
    fn covers(&self, other: &Self) -> bool {
        let same_work = self.kind == other.kind
            && self.ecosystem == other.ecosystem
            && self.about == other.about;
        let is_whole = self.scope == Scope::Plain && self.tool() == other.tool();
        let is_within = match other.scope {
            Scope::Part => true,
            // Other features of a crate are other code, and other files of a script other tests.
            Scope::Plain => {
                other.kind == Kind::Test
                    && !matches!(other.ecosystem, Ecosystem::Rust | Ecosystem::JavaScript)
            }
            Scope::Variant | Scope::Special => false,
        };
        same_work && (self.words == other.words || (is_whole && is_within))
    }

    /// `cargo test`, `pytest`.
    fn tool(&self) -> &str {
        let second = self.words.match_indices(' ').nth(1).map(|(at, _)| at);
        match self.ecosystem {
            Ecosystem::Rust | Ecosystem::Go => {
                second.and_then(|at| self.words.get(..at)).unwrap_or(&self.words)
            }
            Ecosystem::JavaScript
            | Ecosystem::Python
            | Ecosystem::Jvm
            | Ecosystem::Ruby
            | Ecosystem::Php
            | Ecosystem::Beam
            | Ecosystem::DotNet
            | Ecosystem::Swift
            | Ecosystem::Native
            | Ecosystem::Other => self.words.split(' ').next().unwrap_or_default(),
        }
    }
}

impl Does {
    pub(super) fn unknown() -> Self {
        Self { deeds: BTreeSet::new(), rest: Rest::Unknown }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.deeds.extend(other.deeds);
        if other.rest == Rest::Unknown {
            self.rest = Rest::Unknown;
        }
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        self.deeds.iter().map(|deed| deed.kind).max()
    }

    pub(super) fn ecosystems(&self) -> BTreeSet<Ecosystem> {
        self.deeds.iter().map(|deed| deed.ecosystem).collect()
    }

    /// Whether all that `other` is known to do is done here, so that running it too would be a double.
    pub(super) fn covers(&self, other: &Self) -> bool {
        other.rest == Rest::Nothing
            && !other.deeds.is_empty()
            && other.deeds.iter().all(|deed| self.deeds.iter().any(|mine| mine.covers(deed)))
    }

    /// Whether both ask the same tools, or it is not known which.
    pub(super) fn shares_tools(&self, other: &Self) -> bool {
        let is_unknown = |does: &Self| does.deeds.is_empty() || does.rest == Rest::Unknown;
        is_unknown(self)
            || is_unknown(other)
            || other.deeds.iter().all(|deed| {
                self.deeds.iter().any(|mine| mine.kind == deed.kind && mine.tool() == deed.tool())
            })
    }

    /// The widest scope of its deeds of one kind. Where none is known, people named it, and it is what they say.
    pub(super) fn scope(&self, kind: Kind) -> Scope {
        let of_kind = self.deeds.iter().filter(|deed| deed.kind == kind);
        of_kind.map(|deed| deed.scope).min().unwrap_or(Scope::Plain)
    }
}
