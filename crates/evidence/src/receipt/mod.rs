//! What is attested about a change: who asked for it, who approved it, what ran, and what came of it.
//!
//! A [`Receipt`] is plain data, gathered by whoever delivers a change. A [`Statement`] says of which commit and tree it is true, in the form of
//! in-toto, version 1. Both have one spelling ([`crate::canonical`]), so the same facts are the same bytes on every machine and in every year.
//!
//! The format is documented in `docs/reference/receipt.md` and `docs/reference/receipt.schema.json`, which tests hold against this code.
//!
//! **Invariant:** no free text of an agent is in a receipt, only hashes, counts, names and the texts of people: what one approved as conditions, and why
//! one dismissed a finding.
//! Names come from outside too; they are bounded and visible, or the receipt is refused ([`ReceiptFault`]).

mod gate;
mod headline;
mod limits;
mod outcome;
mod run;
pub(crate) mod spelling;
mod statement;
mod who;

use domain::{
    code::{CommitId, RepositoryName},
    digest::Digest,
    id::TaskId,
    plan::PlanHash,
};
use serde::{Deserialize, Serialize};

pub use gate::{AllowedBy, Amended, Asked, FollowUp, FollowUpKind};
pub use headline::Stated;
pub use limits::{LIST_LIMIT, NUMBER_LIMIT, ReceiptFault, TEXT_LIMIT};
pub use outcome::{
    Check, Counts, Dismissed, Flag, FlagKind, Review, ReviewOutcome, Spent, Times, Verdict,
};
pub use run::{AgentRun, Egress, HostUse, PolicyUse};
pub use statement::{
    PAYLOAD_LIMIT, PREDICATE_TYPE, STATEMENT_TYPE, Statement, StatementError, TreeId,
};
pub use who::Who;

use crate::commit::Branch;

/// Everything that is attested, beside the commit and its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Receipt {
    #[serde(with = "spelling::plain")]
    pub task: TaskId,
    #[serde(with = "spelling::plain")]
    pub repository: RepositoryName,
    #[serde(with = "spelling::plain")]
    pub branch: Branch,
    /// The branch that the work is to be merged into. Older receipts do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// The commit that the work began from.
    #[serde(with = "spelling::plain")]
    pub base: CommitId,
    pub request: Asked,
    /// The hash of the plan, as [`domain::plan::Plan::hash`] makes it.
    #[serde(with = "spelling::plain")]
    pub plan: PlanHash,
    pub approval: AllowedBy,
    /// What woke the task since then, in its order; of many, the newest. Older receipts do not have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<FollowUp>,
    pub agent: AgentRun,
    /// Who reviewed, if anyone did.
    pub reviewer: Option<AgentRun>,
    /// What the sandbox started from.
    #[serde(with = "spelling::plain")]
    pub image: Digest,
    pub policy: PolicyUse,
    pub egress: Egress,
    pub checks: Vec<Check>,
    /// What they say together. Older receipts do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Stated>,
    pub review: Review,
    /// What a person dismissed of it, in the order in which they did. Older receipts do not have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dismissed: Vec<Dismissed>,
    /// What a reviewer should look at twice.
    pub flags: Vec<Flag>,
    pub cost: Spent,
    pub time: Times,
    /// The hash of all that the agent said and did.
    #[serde(with = "spelling::plain")]
    pub transcript: Digest,
    /// The version of the program that wrote this.
    pub lamplighter: String,
}
