//! The text of a pull request (RV2): what a reviewer needs on one screen, and a block that programs read.
//!
//! ```text
//!  the repository's own template, as it is (last, if it could swallow the rest)
//!  ---
//!  summary and why · plan and approval · checks · review · risks and refused hosts · flags · log · reasoning · cost     from a template
//!  <!-- lamplighter:block … -->                                                                                         from the receipt
//! ```
//!
//! Figures come from the same [`Statement`] that is signed, so the text cannot say anything else than the receipt. Words come from agents and
//! people, and nobody trusts them.
//!
//! **Invariants:** a word of theirs never becomes Markdown, HTML, a link, a mention, a closed issue, or a block ([`markdown`]). The text has at
//! most [`LIMIT`] bytes, and says what was left off. It has exactly one block, which is ours.

mod block;
mod markdown;
mod own;
mod template;
mod values;

use domain::digest::Digest;

pub use block::{BLOCK_LIMIT, Block, BlockError, CheckCounts};
pub use template::{BodyTemplate, TemplateError};

use crate::{link::Link, receipt::Statement};

/// GitHub takes 65,536 letters. We count bytes, which are never fewer.
pub const LIMIT: usize = 65_536;

/// A pull request, before it is a text.
#[derive(Debug, Clone, Copy)]
pub struct PullRequest<'a> {
    pub statement: &'a Statement,
    /// The digest of the signed receipt.
    pub receipt: Digest,
    pub words: Words<'a>,
    /// What tests run of the changed lines, where a report of it was found. Not attested: the code under test writes such reports.
    pub coverage: Option<Coverage>,
    pub links: Links<'a>,
    /// The repository's own template, from the base commit.
    pub own_template: Option<&'a str>,
}

/// What agents and people wrote.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words<'a> {
    /// The agent: what was changed.
    pub summary: &'a str,
    /// The person: what was asked for.
    pub why: &'a str,
    pub risks: &'a [String],
    /// What to write so that something is proven, where nothing was.
    pub next: &'a [String],
    /// Tests that are new or mended, by their names; `tests_left_off` more are not among them.
    pub tests: &'a [String],
    pub tests_left_off: u64,
    /// What the reviewer found and nobody mended.
    pub findings: &'a [String],
    /// What the reviewer found and a person dismissed, with who and why.
    pub dismissed: &'a [String],
    /// What the platform says about each flag of the receipt, in the same order. Paths in it are an agent's.
    pub flags: &'a [String],
    /// The end of the sandbox's log.
    pub log: &'a str,
    pub reasoning: &'a str,
}

/// Changed lines that tests run, and that they could run and do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    pub covered: u64,
    pub missed: u64,
}

/// Where to read more. For what is left out the built-in template names the command, or nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Links<'a> {
    pub task: Option<&'a Link>,
    pub sandbox: Option<&'a Link>,
    pub log: Option<&'a Link>,
    pub reasoning: Option<&'a Link>,
}
