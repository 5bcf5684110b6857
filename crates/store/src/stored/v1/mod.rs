//! The first version of every event. Shipped: not to be changed, only to be succeeded.
//!
//! The table below is the format. A line holds the kind, the event and the body's fields in the order
//! in which they are written; the modules beside it hold what the fields are made of. Fields after `since` came later: this version does not
//! have them, and is only read.

mod approval;
pub(super) mod conversation;
pub(super) mod cost;
pub(super) mod failure;
pub(super) mod limits;
mod plan;
mod progress;
pub(super) mod request;

use std::collections::BTreeSet;

use domain::{
    code::CommitId,
    digest::Digest,
    finding::FindingId,
    id::{PersonId, QuestionId, SandboxId},
    phase::Phase,
    plan::PlanHash,
    task::{DoneBecause, Event, Leftovers},
};
use serde::{Deserialize, Serialize};

use self::{
    approval::Conditions,
    conversation::{Question, WakeCause},
    cost::Cost,
    failure::{Failure, PauseReason, Verdict},
    limits::Limits,
    plan::Plan,
    progress::Footprint,
    request::Request,
};
use super::{
    shape::{Micros, Number, Shape},
    text::Text,
};

pub(super) const VERSION: i64 = 1;

macro_rules! events {
    ($(
        $kind:literal = $name:ident { $($field:ident $(as $word:literal)?: $shape:ty),* }
            $(since { $later:ident: $before:expr })?;
    )+) => {
        $(
            #[derive(Debug, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            struct $name {
                $(
                    $(#[serde(rename = $word)])?
                    #[serde(deserialize_with = "serde::Deserialize::deserialize")]
                    $field: $shape,
                )*
            }
        )+

        /// The body of `event`.
        pub(super) fn encode(event: &Event) -> String {
            match event {
                $(Event::$name { $($field,)* $($later: _)? } => {
                    write(&$name { $($field: Shape::of($field)),* })
                })+
            }
        }

        /// The event that `body` tells of, unless there is no such kind.
        pub(super) fn decode(kind: &str, body: &str) -> Option<serde_json::Result<Event>> {
            match kind {
                $($kind => Some(serde_json::from_str(body).map(|$name { $($field),* }| {
                    Event::$name { $($field: Shape::value($field),)* $($later: $before)? }
                })),)+
                _unknown => None,
            }
        }

        #[cfg(test)]
        pub(super) const KINDS: &[&str] = &[$($kind),+];
    };
}

events! {
    "requested" = Requested { request: Request, limits: Limits };
    "admitted" = Admitted {};
    "prepared" = Prepared { sandbox: Text<SandboxId>, commit: Text<CommitId> }
        since { left: Leftovers::default() };
    "question_asked" = QuestionAsked { question: Question, session: Option<String> };
    "answered" = Answered { question: Text<QuestionId>, by: Text<PersonId>, text: String };
    "researched" = Researched { notes: Text<Digest>, session: Option<String> };
    "plan_submitted" = PlanSubmitted { plan: Plan, session: Option<String> };
    "approved" = Approved { plan: Text<PlanHash>, by: Text<PersonId>, conditions: Conditions };
    "rejected" = Rejected { plan: Text<PlanHash>, by: Text<PersonId>, comment: String };
    "implemented" = Implemented {
        base: Text<CommitId>,
        commit: Text<CommitId>,
        difference: Text<Digest>,
        record: Text<Digest>,
        session: Option<String>
    };
    "checks_passed" = ChecksPassed { evidence: Text<Digest> };
    "checks_failed" =
        ChecksFailed { footprint: Footprint, evidence: Text<Digest>, verdict: Verdict };
    "review_passed" = ReviewPassed { evidence: Text<Digest> };
    "review_found_faults" = ReviewFoundFaults { evidence: Text<Digest>, verdict: Verdict }
        since { findings: BTreeSet::new() };
    "finding_dismissed" =
        FindingDismissed { finding: Text<FindingId>, by: Text<PersonId>, why: Option<String> };
    "pull_request_opened" = PullRequestOpened { number: Number, receipt: Text<Digest> };
    "woken" = Woken { cause: WakeCause };
    "messaged" = Messaged { by: Text<PersonId>, text: String };
    "amended" = Amended { by: Text<PersonId>, conditions: Conditions };
    "budget_raised" = BudgetRaised { by: Text<PersonId>, to as "to_micros": Micros };
    "charged" = Charged { phase: Text<Phase>, cost: Cost, verdict: Verdict };
    "paused" = Paused { why: PauseReason };
    "resumed" = Resumed { by: Text<PersonId> };
    "retried" = Retried { by: Text<PersonId>, from: Text<Phase> };
    "done" = Done { because: Text<DoneBecause> };
    "failed" = Failed { failure: Failure };
    "cancelled" = Cancelled { by: Text<PersonId> };
}

/// Shapes hold texts, numbers, lists and records. Writing those to memory cannot fail; if it ever
/// could, the empty body would be refused when it is read.
pub(super) fn write(shape: &impl Serialize) -> String {
    serde_json::to_string(shape).unwrap_or_default()
}
