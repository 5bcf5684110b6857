//! The receipt of a pull request, out of the repository that we stand in: no server is asked.
//!
//! The record and the receipt are below `refs/lamp`, where anybody who may push can have written them. So nothing here is believed: the record
//! only says which commit to look for, and the receipt is then checked as any other.

use std::{
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use domain::code::{BranchName, CommitId};
use evidence::envelope::ENVELOPE_LIMIT;
use serde::Deserialize;

use super::repository::git;

/// How to have them here.
pub(super) const BRING: &str = "`git fetch origin 'refs/lamp/*:refs/lamp/*'` brings records and receipts into a clone; or name the server";

/// Bytes of a record.
const LARGEST_RECORD: usize = 2 << 20;

/// What of a record matters here: which commit to look for. Nothing of it is believed, so the rest of it is not looked at.
#[derive(Debug, Deserialize)]
struct Record {
    branch: String,
    delivered: String,
}

/// A receipt, and the commit that the branch of its pull request is at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) envelope: Vec<u8>,
    pub(super) commit: CommitId,
}

/// Nothing, where this repository has no such pull request.
pub(super) fn find(place: &Path, number: u64) -> anyhow::Result<Option<Found>> {
    let object = format!("refs/lamp/pulls/{number}:pull.json");
    if git(place, &["cat-file", "-e", &object]).is_err() {
        return Ok(None);
    }
    let bytes = content(place, &object, LARGEST_RECORD)?;
    let what = || format!("the record of pull request {number} cannot be read");
    let record: Record = serde_json::from_slice(&bytes).with_context(what)?;
    let branch: BranchName = record.branch.parse().with_context(what)?;
    let delivered: CommitId = record.delivered.parse().with_context(what)?;
    let (first, rest) = delivered.as_str().split_at_checked(2).unwrap_or_default();
    let envelope = content(place, &format!("refs/lamp/receipts:{first}/{rest}"), ENVELOPE_LIMIT);
    let envelope = envelope.with_context(|| {
        format!("this repository has no receipt for what pull request {number} delivered")
    })?;
    let commit = at(place, &branch).unwrap_or(delivered);
    Ok(Some(Found { envelope, commit }))
}

/// What the branch is at, as far as this repository knows.
fn at(place: &Path, branch: &BranchName) -> Option<CommitId> {
    ["refs/heads", "refs/remotes/origin"].iter().find_map(|prefix| {
        let name = format!("{prefix}/{branch}^{{commit}}");
        git(place, &["rev-parse", "--verify", "--quiet", &name]).ok()?.parse().ok()
    })
}

/// The bytes of an object, of which there are not more than `most`.
fn content(place: &Path, object: &str, most: usize) -> anyhow::Result<Vec<u8>> {
    let size: usize = git(place, &["cat-file", "-s", object])?.parse()?;
    if size > most {
        bail!("`{object}` has {size} bytes, and {most} are allowed");
    }
    let mut child = Command::new("git")
        .arg("-C")
        .arg(place)
        .args(["cat-file", "blob", object])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("git does not start")?;
    let mut bytes = Vec::with_capacity(size);
    if let Some(out) = child.stdout.take() {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        out.take(most).read_to_end(&mut bytes)?;
    }
    if !child.wait()?.success() || bytes.len() != size {
        bail!("`{object}` cannot be read");
    }
    Ok(bytes)
}
