//! The second version of the events that have one. Shipped: not to be changed, only to be succeeded.
//!
//! | event | what is new |
//! |---|---|
//! | `requested` | remembers by which definition its agent works |
//! | `review_found_faults` | names what was found, so that a person can dismiss it |
//! | `prepared` | tells what a setup had left in the checkout, where it left anything |
//! | `woken` by remarks | says of each whether whoever said it is known |

use domain::{
    code::CommitId,
    definition::Definition,
    digest::Digest,
    finding::FindingId,
    id::SandboxId,
    task::{self, Event, Speaker},
};
use serde::{Deserialize, Serialize};

use super::{
    shape::{Set, Shape as _},
    text::Text,
    v1::{conversation::RemarkKind, failure::Verdict, limits::Limits, request::Request, write},
};

pub(super) const VERSION: i64 = 2;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requested {
    request: Request,
    limits: Limits,
    definition: Text<Definition>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReviewFoundFaults {
    evidence: Text<Digest>,
    findings: Set<Text<FindingId>>,
    verdict: Verdict,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prepared {
    sandbox: Text<SandboxId>,
    commit: Text<CommitId>,
    left: Leftovers,
}

record! {
    Leftovers of task::Leftovers {
        restored: Vec<String>,
        left: Vec<String>,
        more: u64,
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Woken {
    remarks: Vec<Remark>,
}

record! {
    Remark of task::Remark {
        kind: RemarkKind,
        name: String,
        by: String,
        speaker: Text<Speaker>,
        text: String,
    }
}

/// The body of `event`, if it is one that has a second version.
pub(super) fn encode(event: &Event) -> Option<String> {
    if let Event::Woken { cause: task::WakeCause::Remarks(remarks) } = event {
        return Some(write(&Woken { remarks: Vec::of(remarks) }));
    }
    if let Event::Requested { request, limits } = event {
        let definition = Text::of(request.definition.as_ref()?);
        let (request, limits) = (Request::of(request), Limits::of(limits));
        return Some(write(&Requested { request, limits, definition }));
    }
    if let Event::Prepared { sandbox, commit, left } = event {
        let (sandbox, commit) = (Text::of(sandbox), Text::of(commit));
        // What the first version can tell is told in it.
        let has_news = !left.is_empty();
        return has_news.then(|| write(&Prepared { sandbox, commit, left: Leftovers::of(left) }));
    }
    let Event::ReviewFoundFaults { evidence, findings, verdict } = event else { return None };
    Some(write(&ReviewFoundFaults {
        evidence: Text::of(evidence),
        findings: Set::of(findings),
        verdict: Verdict::of(verdict),
    }))
}

/// The event that `body` tells of, unless there is no such kind in this version.
pub(super) fn decode(kind: &str, body: &str) -> Option<serde_json::Result<Event>> {
    match kind {
        "requested" => {
            Some(serde_json::from_str(body).map(|Requested { request, limits, definition }| {
                let definition = Some(definition.value());
                Event::Requested {
                    request: domain::request::Request { definition, ..request.value() },
                    limits: limits.value(),
                }
            }))
        }
        "review_found_faults" => Some(serde_json::from_str(body).map(
            |ReviewFoundFaults { evidence, findings, verdict }| Event::ReviewFoundFaults {
                evidence: evidence.value(),
                findings: findings.value(),
                verdict: verdict.value(),
            },
        )),
        "prepared" => Some(serde_json::from_str(body).map(|Prepared { sandbox, commit, left }| {
            Event::Prepared { sandbox: sandbox.value(), commit: commit.value(), left: left.value() }
        })),
        "woken" => Some(serde_json::from_str(body).map(|Woken { remarks }| Event::Woken {
            cause: task::WakeCause::Remarks(remarks.value()),
        })),
        _unknown => None,
    }
}
