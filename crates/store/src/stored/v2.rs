//! The second version of the events that have one. Shipped: not to be changed, only to be succeeded.
//!
//! | event | what is new |
//! |---|---|
//! | `review_found_faults` | names what was found, so that a person can dismiss it |

use domain::{digest::Digest, finding::FindingId, task::Event};
use serde::{Deserialize, Serialize};

use super::{
    shape::{Set, Shape as _},
    text::Text,
    v1::{failure::Verdict, write},
};

pub(super) const VERSION: i64 = 2;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReviewFoundFaults {
    evidence: Text<Digest>,
    findings: Set<Text<FindingId>>,
    verdict: Verdict,
}

/// The body of `event`, if it is one that has a second version.
pub(super) fn encode(event: &Event) -> Option<String> {
    let Event::ReviewFoundFaults { evidence, findings, verdict } = event else { return None };
    Some(write(&ReviewFoundFaults {
        evidence: Text::of(evidence),
        findings: Set::of(findings),
        verdict: Verdict::of(verdict),
    }))
}

/// The event that `body` tells of, unless there is no such kind in this version.
pub(super) fn decode(kind: &str, body: &str) -> Option<serde_json::Result<Event>> {
    (kind == "review_found_faults").then(|| {
        serde_json::from_str(body).map(|ReviewFoundFaults { evidence, findings, verdict }| {
            Event::ReviewFoundFaults {
                evidence: evidence.value(),
                findings: findings.value(),
                verdict: verdict.value(),
            }
        })
    })
}
