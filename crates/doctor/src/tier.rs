//! Which tiers of isolation this computer could give (promise SB2).
//!
//! A tier that the host cannot provide is refused, never silently weakened. So
//! each tier lists what it requires, and one missing thing is enough.

use super::finding::{Finding, State, Topic};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tier {
    pub(crate) name: &'static str,
    /// The topics that are missing; none, and the tier is available.
    pub(crate) lacks: Vec<&'static str>,
    /// The topics that are there with limits.
    pub(crate) limited_by: Vec<&'static str>,
}

impl Tier {
    pub(crate) fn is_available(&self) -> bool {
        self.lacks.is_empty()
    }
}

const VERIFIED: &[Topic] =
    &[Topic::UserNamespaces, Topic::Namespaces, Topic::Overlay, Topic::Seccomp];
const STANDARD: &[Topic] = &[
    Topic::UserNamespaces,
    Topic::Namespaces,
    Topic::Overlay,
    Topic::Seccomp,
    Topic::Landlock,
    Topic::Limits,
];
/// A kernel of its own comes by gVisor or by a microVM; around it stand the same limits.
const UNTRUSTED: &[Topic] = &[Topic::UserNamespaces, Topic::Namespaces, Topic::Limits];

pub(crate) fn all(findings: &[Finding]) -> Vec<Tier> {
    let mut untrusted = tier("untrusted", UNTRUSTED, findings);
    let has = |topic| matches!(state(findings, topic), Some(State::Ok));
    if !has(Topic::Gvisor) && !has(Topic::Virtualisation) {
        untrusted.lacks.push("runsc or virtualisation");
    }
    vec![tier("verified", VERIFIED, findings), tier("standard", STANDARD, findings), untrusted]
}

fn tier(name: &'static str, required: &[Topic], findings: &[Finding]) -> Tier {
    let mut tier = Tier { name, lacks: Vec::new(), limited_by: Vec::new() };
    for topic in required {
        match state(findings, *topic) {
            Some(State::Ok) => {}
            Some(State::Limited(_)) => tier.limited_by.push(topic.name()),
            Some(State::Missing(_)) | None => tier.lacks.push(topic.name()),
        }
    }
    tier
}

fn state(findings: &[Finding], topic: Topic) -> Option<&State> {
    findings.iter().find(|finding| finding.topic == topic).map(|finding| &finding.state)
}
