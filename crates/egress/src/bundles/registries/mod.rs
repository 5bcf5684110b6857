//! Package registries: which hosts they are is what the package managers themselves say.
//!
//! A company's mirror stands in `.npmrc`, `pip.conf` or `sources.list`; without one, the package manager knows its own default.
//! [`sources`] says what has to be asked in an image or on the host, and [`places`] reads the answers. No host is written down here.
//!
//! What an agent can write says nothing here: ask on the host, or in an image before an agent has run in it.
//!
//! **Invariant:** what is found is for `GET` and `HEAD` only, whoever found it. Nothing is ever published.

mod crates;
mod debian;
mod go;
mod hosts;
mod maven;
mod npm;
mod pypi;

use std::collections::{BTreeMap, BTreeSet};

use domain::policy::Ecosystem;

pub use self::hosts::{Ask, RegistryHosts};
use super::endpoint::Endpoint;

#[cfg(test)]
#[path = "registries_tests.rs"]
mod tests;

/// What has to be asked to know the registries of one ecosystem. What is missing is not missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources {
    /// Programs with their arguments. Their standard output is the answer; of those in `complaints` the standard error is.
    pub commands: &'static [&'static [&'static str]],
    pub complaints: &'static [&'static [&'static str]],
    /// `~/` is the home of the user who works. `*` stands for any part of one name.
    pub files: &'static [&'static str],
    pub variables: &'static [&'static str],
}

/// What was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// By the command, with spaces between its words.
    pub commands: BTreeMap<String, String>,
    /// In the order of reading.
    pub files: Vec<String>,
    pub variables: BTreeMap<String, String>,
}

/// What the answers mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub places: BTreeSet<Endpoint>,
    /// Settings that could not be used, each as a sentence for the operator.
    pub problems: Vec<String>,
}

pub const fn sources(ecosystem: Ecosystem) -> Sources {
    match ecosystem {
        Ecosystem::Npm => npm::SOURCES,
        Ecosystem::Pypi => pypi::SOURCES,
        Ecosystem::Crates => crates::SOURCES,
        Ecosystem::Go => go::SOURCES,
        Ecosystem::Maven => maven::SOURCES,
        Ecosystem::Debian => debian::SOURCES,
    }
}

pub fn places(ecosystem: Ecosystem, answers: &Answers) -> Found {
    match ecosystem {
        Ecosystem::Npm => npm::places(answers),
        Ecosystem::Pypi => pypi::places(answers),
        Ecosystem::Crates => crates::places(answers),
        Ecosystem::Go => go::places(answers),
        Ecosystem::Maven => maven::places(answers),
        Ecosystem::Debian => debian::places(answers),
    }
}

/// Addresses that tell more once `found` is known: each is to be fetched, and added to the files of the answers.
pub fn follow(ecosystem: Ecosystem, found: &Found) -> Vec<String> {
    match ecosystem {
        Ecosystem::Crates => crates::follow(found),
        Ecosystem::Npm | Ecosystem::Pypi | Ecosystem::Go | Ecosystem::Maven | Ecosystem::Debian => {
            Vec::new()
        }
    }
}

impl Answers {
    fn command(&self, words: &[&str]) -> Option<&str> {
        self.commands.get(&words.join(" ")).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
    }
}

impl Found {
    /// Adds the place that `text` names; `whose` says which setting it comes from.
    fn add(&mut self, whose: &str, text: &str) {
        if let Some(place) = self.read(whose, text) {
            self.places.insert(place);
        }
    }

    fn read(&mut self, whose: &str, text: &str) -> Option<Endpoint> {
        match text.parse() {
            Ok(place) => Some(place),
            Err(error) => {
                let error: super::endpoint::EndpointError = error;
                self.problems.push(format!("{whose}: {error}"));
                None
            }
        }
    }
}

/// `name = value` lines of an INI file, without comments and quotes.
fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';', '[']))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim().trim_matches(['"', '\''])))
}
