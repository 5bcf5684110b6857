//! What a receipt is held against: public keys, the tree of a commit, and the plan that a person has read.
//!
//! `lamp verify` and the demo compare with the same, so that what the demo shows is what the command does.

use std::{io::Read as _, path::Path, time::Duration};

use anyhow::Context as _;
use domain::{
    code::CommitId,
    money::Money,
    plan::{Estimate, FileChange, Plan},
};
use evidence::{
    keys::{PublicKey, TrustedKeys},
    receipt::TreeId,
};
use wire::{agent::PlannedFile, task::plan as told};

use super::repository::git;

/// Longer than any key.
const KEY_LIMIT: u64 = 64 << 10;

/// All of a directory, or the one of a file.
pub(crate) fn keys(place: &Path) -> anyhow::Result<TrustedKeys> {
    if !place.is_dir() {
        return Ok([key(place)?].into_iter().collect());
    }
    let mut keys = Vec::new();
    for entry in fs_err::read_dir(place)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "pem") {
            keys.push(key(&path)?);
        }
    }
    Ok(keys.into_iter().collect())
}

fn key(path: &Path) -> anyhow::Result<PublicKey> {
    let mut text = String::new();
    fs_err::File::open(path)?.take(KEY_LIMIT).read_to_string(&mut text)?;
    text.parse().with_context(|| format!("`{}` is no public key", path.display()))
}

/// Which files a commit is, as git says.
pub(crate) fn tree(repository: &Path, commit: &CommitId) -> anyhow::Result<TreeId> {
    let word = format!("{commit}^{{tree}}");
    let tree = git(repository, &["rev-parse", "--verify", "--end-of-options", &word])?;
    Ok(tree.parse()?)
}

/// The plan that can be read, where its text gives the hash that it goes by. One of which something was not told does not; then there is
/// nothing to compare with.
pub(crate) fn plan(shown: &told::Plan) -> Option<Plan> {
    let file = |it: &PlannedFile| FileChange { path: it.path.clone(), why: it.why.clone() };
    let estimate = Estimate {
        time: shown.estimate.seconds.map(Duration::from_secs),
        cost: shown.estimate.cost.as_ref().map(|cost| Money::from_micros(cost.micros)),
    };
    let plan = Plan {
        summary: shown.summary.clone(),
        files: shown.files.iter().map(file).collect(),
        tests: shown.tests.clone(),
        expected_behaviour: shown.expected_behaviour.clone(),
        commands: shown.commands.clone(),
        hosts: shown.hosts.clone(),
        risks: shown.risks.clone(),
        estimate,
    };
    (plan.hash().to_string() == shown.hash).then_some(plan)
}
