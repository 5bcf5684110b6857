//! Targets of Makefiles and recipes of justfiles: names, with what they need and what they run.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    candidate::{Candidate, Source},
    check::{Confidence, Directory},
    classify::{self, Ecosystem},
    names,
    tree::Survey,
};

/// Nobody types the name of the thousandth target.
const TARGETS_LIMIT: usize = 500;
const LINES_LIMIT: usize = 200;

/// A program that runs targets, and how its files are read.
pub(super) struct Dialect {
    /// Names of its file; the first that is there counts.
    pub(super) files: &'static [&'static str],
    pub(super) program: &'static str,
    pub(super) parse: fn(&str) -> Targets,
}

impl Dialect {
    /// The checks of all its files.
    pub(super) fn read(&self, survey: &Survey) -> Vec<Candidate> {
        let mut found = Vec::new();
        for directory in survey.directories(self.files) {
            let file = self.files.iter().find(|name| survey.has(&directory, name));
            if let (Some(file), Some(targets)) = (file, self.targets(survey, &directory)) {
                found.extend(targets.checks(self.program, &directory, &directory.file(file)));
            }
        }
        found
    }

    /// The targets of its file in a directory.
    pub(super) fn targets(&self, survey: &Survey, directory: &Directory) -> Option<Targets> {
        let text = self.files.iter().find_map(|name| survey.text(directory, name))?;
        Some((self.parse)(text))
    }
}

#[derive(Debug, Default)]
struct Target {
    needs: Vec<String>,
    lines: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Targets(BTreeMap<String, Target>);

impl Targets {
    /// Adds a target, or more to one that is known.
    pub(super) fn add<'a>(&mut self, name: &str, needs: impl Iterator<Item = &'a str>) {
        if self.0.len() >= TARGETS_LIMIT && !self.0.contains_key(name) {
            return;
        }
        let target = self.0.entry(name.to_owned()).or_default();
        let room = TARGETS_LIMIT.saturating_sub(target.needs.len());
        target.needs.extend(needs.take(room).map(str::to_owned));
    }

    pub(super) fn add_line(&mut self, name: &str, line: &str) {
        let Some(target) = self.0.get_mut(name) else { return };
        if target.lines.len() < LINES_LIMIT {
            target.lines.push(line.to_owned());
        }
    }

    /// Everything that runs when these do.
    fn reached(&self, names: &[String]) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = names.iter().map(String::as_str).collect();
        while let Some(name) = open.pop() {
            let Some((name, target)) = self.0.get_key_value(name) else { continue };
            if reached.insert(name.as_str()) {
                open.extend(target.needs.iter().map(String::as_str));
            }
        }
        reached
    }

    /// Whose tools run when these targets do.
    pub(super) fn ecosystems(&self, names: &[String]) -> BTreeSet<Ecosystem> {
        let targets = self.reached(names).into_iter().filter_map(|name| self.0.get(name));
        targets
            .flat_map(|target| &target.lines)
            .flat_map(|line| classify::ecosystems_of(line))
            .collect()
    }

    /// The targets that are checks: named as one, with something to do, and not only a bundle of others that are checks themselves.
    fn checks(&self, program: &str, directory: &Directory, file: &str) -> Vec<Candidate> {
        let named: BTreeMap<&str, _> =
            self.0.keys().filter_map(|name| Some((name.as_str(), names::kind_of(name)?))).collect();
        let is_bundle = |name: &str, target: &Target| {
            let others = self.reached(&target.needs);
            others.iter().any(|other| *other != name && named.contains_key(other))
                && target.lines.is_empty()
        };
        self.0
            .iter()
            .filter_map(|(name, target)| {
                let kind = *named.get(name.as_str())?;
                if is_bundle(name, target) || self.is_empty(name) || !is_typable(name) {
                    return None;
                }
                Some(Candidate {
                    kind,
                    command: format!("{program} {name}"),
                    directory: directory.clone(),
                    about: directory.clone(),
                    ecosystems: self.ecosystems(std::slice::from_ref(name)),
                    source: Source::Target,
                    confidence: Confidence::Likely,
                    file: file.to_owned(),
                })
            })
            .collect()
    }

    /// What runs when each of the targets does that are named as checks.
    pub(super) fn recipes(&self, program: &str) -> BTreeMap<String, Vec<String>> {
        let named = self.0.keys().filter(|name| names::kind_of(name).is_some());
        let lines = |name: &String| {
            let reached = self.reached(std::slice::from_ref(name)).into_iter();
            let targets = reached.filter_map(|name| self.0.get(name));
            targets.flat_map(|target| target.lines.iter().cloned()).collect()
        };
        named.map(|name| (format!("{program} {name}"), lines(name))).collect()
    }

    /// A target without a single line to run, itself or in what it needs, checks nothing.
    fn is_empty(&self, name: &str) -> bool {
        let reached = self.reached(&[name.to_owned()]);
        reached.iter().all(|name| self.0.get(*name).is_none_or(|target| target.lines.is_empty()))
    }
}

/// A name that is one word for a shell, and no option.
pub(super) fn is_typable(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 100
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-:/".contains(c))
}
