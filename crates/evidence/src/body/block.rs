//! The block that programs read: an HTML comment at the end of a pull request's text.
//!
//! It holds hashes, ids and figures, and no free text at all, so there is nothing in it to escape. A pull request can be edited by others, so it
//! is read strictly, and is a place to look, never a proof: the receipt is.

use domain::{
    code::{CommitId, RepositoryName},
    digest::Digest,
    id::{PersonId, TaskId},
    money::Money,
    plan::PlanHash,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::{
    canonical::{self, NotCanonical},
    commit::Branch,
    receipt::{Check, Review, Statement, TreeId, Verdict, spelling},
};

/// Bytes of the JSON in a block.
pub const BLOCK_LIMIT: usize = 4096;

/// Bytes of a text that is searched. Longer than any forge takes.
const TEXT_LIMIT: usize = 1 << 20;

/// What a block is known by. Whoever's text it stands in, it counts.
const MARK: &str = "lamplighter:block";

const FAMILY: &str = "<!-- lamplighter:block ";
const BEGIN: &str = "<!-- lamplighter:block v1\n";
const END: &str = "\n-->";

/// What a program wants to know of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Block {
    #[serde(with = "spelling::plain")]
    pub task: TaskId,
    #[serde(with = "spelling::plain")]
    pub repository: RepositoryName,
    #[serde(with = "spelling::plain")]
    pub branch: Branch,
    #[serde(with = "spelling::plain")]
    pub base: CommitId,
    #[serde(with = "spelling::plain")]
    pub commit: CommitId,
    #[serde(with = "spelling::plain")]
    pub tree: TreeId,
    #[serde(with = "spelling::plain")]
    pub plan: PlanHash,
    #[serde(with = "spelling::plain")]
    pub approved_by: PersonId,
    #[serde(with = "spelling::instant")]
    pub approved_at: Timestamp,
    pub checks: CheckCounts,
    pub review: Review,
    #[serde(rename = "costMicros", with = "spelling::micros")]
    pub cost: Money,
    /// The digest of the signed receipt.
    #[serde(with = "spelling::plain")]
    pub receipt: Digest,
}

/// How many checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckCounts {
    pub passed: u64,
    pub fixed: u64,
    pub regressions: u64,
    pub known_failures: u64,
    pub flaky: u64,
    pub failed: u64,
    pub not_run: u64,
    /// Those that pass because what failed is gone. Older blocks do not have it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gone: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    #[error("the text has {0} bytes, and no pull request has that many")]
    TooLong(usize),
    #[error("the text has {0} blocks of Lamplighter, so nobody can say which one counts")]
    Several(usize),
    #[error("the block has a version that this version of lamp does not know; use a newer one")]
    UnknownVersion,
    #[error("the block does not stand on lines of its own, or has no end")]
    Broken,
    #[error("the block cannot be read: {0}")]
    Unreadable(#[from] NotCanonical),
}

impl CheckCounts {
    pub fn of(checks: &[Check]) -> Self {
        let mut counts = Self::default();
        for check in checks {
            let count = match check.verdict {
                Verdict::Passed => &mut counts.passed,
                Verdict::Fixed => &mut counts.fixed,
                Verdict::Gone => &mut counts.gone,
                Verdict::Regression => &mut counts.regressions,
                Verdict::KnownFailure => &mut counts.known_failures,
                Verdict::Flaky => &mut counts.flaky,
                Verdict::Failed => &mut counts.failed,
                Verdict::NotRun => &mut counts.not_run,
            };
            *count = count.saturating_add(1);
        }
        counts
    }
}

impl Block {
    pub fn of(statement: &Statement, receipt: Digest) -> Self {
        let Statement { commit, tree, receipt: facts } = statement;
        Self {
            task: facts.task,
            repository: facts.repository.clone(),
            branch: facts.branch.clone(),
            base: facts.base.clone(),
            commit: commit.clone(),
            tree: tree.clone(),
            plan: facts.plan,
            approved_by: facts.approval.by.id,
            approved_at: facts.approval.at,
            checks: CheckCounts::of(&facts.checks),
            review: facts.review,
            cost: facts.cost.money,
            receipt,
        }
    }

    /// As it stands in a text.
    pub fn to_text(&self) -> Result<String, BlockError> {
        let bytes = canonical::write(self)?;
        let json = String::from_utf8(bytes).map_err(|_| NotCanonical::Spelling)?;
        Ok(format!("{BEGIN}{json}{END}"))
    }

    /// The only block in `text`, if there is one. Line breaks of both kinds are taken, because forges change them.
    pub fn find(text: &str) -> Result<Option<Self>, BlockError> {
        if text.len() > TEXT_LIMIT {
            return Err(BlockError::TooLong(text.len()));
        }
        let text = text.replace("\r\n", "\n");
        // Also what is nearly one counts: whoever reads less strictly would take it.
        let marks = text.to_ascii_lowercase().matches(MARK).count();
        match marks {
            0 => return Ok(None),
            1 => {}
            several => return Err(BlockError::Several(several)),
        }
        let (before, after) = match text.split_once(BEGIN) {
            Some(halves) => halves,
            None if text.contains(FAMILY) => return Err(BlockError::UnknownVersion),
            None => return Err(BlockError::Broken),
        };
        let (json, rest) = after.split_once(END).ok_or(BlockError::Broken)?;
        let stands_alone = before.is_empty() || before.ends_with('\n');
        if !stands_alone || !(rest.is_empty() || rest.starts_with('\n')) {
            return Err(BlockError::Broken);
        }
        Ok(Some(canonical::read(json.as_bytes(), BLOCK_LIMIT)?))
    }
}

/// `text` without anything that could be taken for the beginning of a block.
pub(super) fn unmarked(mut text: String) -> String {
    // As long as `text`, letter by letter.
    let lower = text.to_ascii_lowercase();
    for (at, _) in lower.match_indices(MARK) {
        let colon = at + MARK.find(':').unwrap_or_default();
        text.replace_range(colon..=colon, "-");
    }
    text
}

pub(super) fn is_marked(text: &str) -> bool {
    text.to_ascii_lowercase().contains(MARK)
}
