//! Targets of Makefiles and recipes of justfiles: names, with what they need and what they run.

use std::collections::{BTreeMap, BTreeSet};

use super::{check::Directory, names, tree::Survey};

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
    /// The targets of its file in a directory.
    pub(super) fn targets(&self, survey: &Survey, directory: &Directory) -> Option<Targets> {
        let text = self.files.iter().find_map(|name| survey.text(directory, name))?;
        Some((self.parse)(text))
    }
}

#[derive(Debug, Default)]
struct Target {
    /// Where it is named first.
    line: usize,
    needs: Vec<String>,
    lines: Vec<String>,
}

/// The targets by name, and the variables of their file.
#[derive(Debug, Default)]
pub(super) struct Targets(BTreeMap<String, Target>, BTreeMap<String, String>);

impl Targets {
    /// Adds a target, or more to one that is known.
    pub(super) fn add<'a>(
        &mut self,
        (line, name): (usize, &str),
        needs: impl Iterator<Item = &'a str>,
    ) {
        if self.0.len() >= TARGETS_LIMIT && !self.0.contains_key(name) {
            return;
        }
        let fresh = Target { line, ..Target::default() };
        let target = self.0.entry(name.to_owned()).or_insert(fresh);
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

    /// The targets that are checks: named as one, with something to do, and not only a bundle of others that are checks themselves.
    pub(super) fn checks(&self) -> impl Iterator<Item = (&str, usize)> {
        let is_check = |name: &str| {
            names::kind_of(name).is_some()
                && self.parts(name).is_none()
                && !self.is_empty(name)
                && is_typable(name)
                // Such a target is a file that is made.
                && !name.contains('.')
        };
        let named = self.0.iter().filter(move |(name, _)| is_check(name));
        named.map(|(name, target)| (name.as_str(), target.line))
    }

    /// The checks that a target only bundles.
    pub(super) fn parts(&self, name: &str) -> Option<Vec<&str>> {
        let target = self.0.get(name)?;
        let mut checks: Vec<&str> = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::from([name]);
        let mut open: Vec<&String> = target.needs.iter().rev().collect();
        while let Some(need) = open.pop() {
            let Some((need, inner)) = self.0.get_key_value(need.as_str()) else { continue };
            if !seen.insert(need) {
                continue;
            }
            if names::kind_of(need).is_some() {
                checks.push(need);
            } else {
                open.extend(inner.needs.iter().rev());
            }
        }
        (target.lines.is_empty() && !checks.is_empty()).then_some(checks)
    }

    /// The lines that run when these targets do, with the variables of the file put in.
    pub(super) fn lines(&self, names: &[String]) -> Vec<String> {
        let targets = self.reached(names).into_iter().filter_map(|name| self.0.get(name));
        targets.flat_map(|target| &target.lines).map(|line| self.filled(line)).collect()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds a variable of the file that has a plain value.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let is_plain = !value.contains(['$', '`', '(']) && value.len() <= 200;
        if is_plain && self.1.len() < TARGETS_LIMIT {
            self.1.insert(name.to_owned(), value.to_owned());
        }
    }

    fn filled(&self, line: &str) -> String {
        let mut text = line.to_owned();
        for (name, value) in &self.1 {
            text =
                text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
        }
        text.replace("$(MAKE)", "make")
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
