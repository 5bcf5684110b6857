//! Errors that head has and base has not.
//!
//! A line moves when something is written above it, so an error is known by its tool, rule, file and words, and by how often it is there.

use std::collections::BTreeMap;

use super::run::Run;
use crate::{
    finding::{Finding, Kind, Tool},
    text::{Label, Message},
};

type Identity<'a> = (&'a Tool, Option<&'a Label>, Option<&'a str>, &'a Message);

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
    let file = finding.place.file().map(crate::place::WorkspacePath::as_str);
    (&finding.tool, finding.rule.as_ref(), file, &finding.message)
}
