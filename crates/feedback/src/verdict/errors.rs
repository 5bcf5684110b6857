//! Errors that head has and base has not.
//!
//! A line moves when something is written above it, so an error is known by its tool, rule, file and words, and by how often it is there.
//! In the words, numbers and temporary files do not count: how long it took, and where, is different each time.

use std::collections::BTreeMap;

use super::run::Run;
use crate::{
    finding::{Finding, Kind, Tool},
    text::Label,
};

type Identity<'a> = (&'a Tool, Option<&'a Label>, Option<&'a str>, String);

/// In the order in which head's first run printed them.
pub(super) fn new_errors(base: &[Run], head: &[Run]) -> Vec<Finding> {
    let mut known: BTreeMap<Identity<'_>, usize> = BTreeMap::new();
    for run in base {
        let mut here: BTreeMap<Identity<'_>, usize> = BTreeMap::new();
        for error in errors(run) {
            *here.entry(identity(error)).or_default() += 1;
        }
        for (identity, count) in here {
            let most = known.entry(identity).or_default();
            *most = count.max(*most);
        }
    }
    let mut new = Vec::new();
    for error in head.first().into_iter().flat_map(errors) {
        match known.get_mut(&identity(error)) {
            Some(left) if *left > 0 => *left -= 1,
            Some(_) | None => new.push(error.clone()),
        }
    }
    new
}

/// Errors of compilers and linters. What tests say about their failures is compared by test.
fn errors(run: &Run) -> impl Iterator<Item = &Finding> {
    run.report
        .findings()
        .iter()
        .filter(|finding| finding.kind == Kind::Error && finding.test.is_none())
}

fn identity(finding: &Finding) -> Identity<'_> {
    let file = finding.place.file().map(crate::location::WorkspacePath::as_str);
    (&finding.tool, finding.rule.as_ref(), file, steady(&finding.message))
}

/// The words of a message without what differs between two runs of the same code.
fn steady(message: &str) -> String {
    let words = message.split_whitespace().map(|word| {
        let is_address = word.contains("0x");
        let is_temporary = word.contains("/tmp/");
        if is_address || is_temporary {
            return "#".to_owned();
        }
        word.split(|c: char| c.is_ascii_digit())
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("#")
    });
    words.collect::<Vec<_>>().join(" ")
}
