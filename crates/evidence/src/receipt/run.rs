//! What ran: agents and their models, under which policy, and what they reached.

use std::collections::BTreeSet;

use domain::{agent::AgentName, digest::Digest};
use serde::{Deserialize, Serialize};

use super::{LIST_LIMIT, spelling};
use crate::visible::line;

/// A program that worked, and the models that it asked, as the gateway saw them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentRun {
    #[serde(with = "spelling::plain")]
    pub name: AgentName,
    pub program: String,
    pub version: String,
    pub models: BTreeSet<String>,
}

impl AgentRun {
    /// Bytes of a program's version, or of a model's name: both are words of programs that nobody trusts.
    const WORD_LIMIT: usize = 200;

    pub fn new<'a>(
        name: AgentName,
        program: &str,
        version: &str,
        models: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let word = |text: &str| line(text, Self::WORD_LIMIT);
        let models = models.into_iter().map(word).take(LIST_LIMIT).collect();
        Self { name, program: word(program), version: word(version), models }
    }
}

/// The policy that held while code was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyUse {
    #[serde(with = "spelling::plain")]
    pub digest: Digest,
    /// Bundles and rules that were in force, as the policy writes them.
    pub allowed: BTreeSet<String>,
}

/// What left the sandboxes of a task, and what was kept from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Egress {
    pub requests: u64,
    pub refused: u64,
    pub bytes: u64,
    /// In the order of their names.
    pub hosts: Vec<HostUse>,
    /// Hosts that there was no room for. They are in the sums.
    pub hosts_left_off: u64,
    /// The hash of the whole log, where one is kept.
    #[serde(with = "spelling::plain_or_null")]
    pub log: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostUse {
    pub host: String,
    pub requests: u64,
    pub refused: u64,
    pub bytes: u64,
}

impl Egress {
    /// Bytes of a host's name.
    const HOST_LIMIT: usize = 260;

    /// Adds up what was counted. Hosts that were refused something are named before all others.
    pub fn of(uses: impl IntoIterator<Item = HostUse>, log: Option<Digest>) -> Self {
        let mut hosts: Vec<HostUse> = Vec::new();
        for seen in uses {
            // Names are what a sandbox asked for: anything at all.
            let host = line(&seen.host, Self::HOST_LIMIT);
            hosts.push(HostUse { host, ..seen });
        }
        hosts.sort_by(|one, other| one.host.cmp(&other.host));
        hosts.dedup_by(|next, kept| {
            let is_same = next.host == kept.host;
            if is_same {
                kept.requests = kept.requests.saturating_add(next.requests);
                kept.refused = kept.refused.saturating_add(next.refused);
                kept.bytes = kept.bytes.saturating_add(next.bytes);
            }
            is_same
        });
        let sum = |count: fn(&HostUse) -> u64| hosts.iter().map(count).fold(0, u64::saturating_add);
        let (requests, refused, bytes) =
            (sum(|host| host.requests), sum(|host| host.refused), sum(|host| host.bytes));
        let left_off = hosts.len().saturating_sub(LIST_LIMIT);
        hosts.sort_by_key(|host| host.refused == 0);
        hosts.truncate(LIST_LIMIT);
        hosts.sort_by(|one, other| one.host.cmp(&other.host));
        let hosts_left_off = u64::try_from(left_off).unwrap_or(u64::MAX);
        Self { requests, refused, bytes, hosts, hosts_left_off, log }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(host: &str, requests: u64, refused: u64) -> HostUse {
        HostUse { host: host.to_owned(), requests, refused, bytes: 10 }
    }

    #[test]
    fn the_same_host_is_counted_once() {
        let egress = Egress::of([seen("b", 1, 0), seen("a", 2, 1), seen("b", 3, 3)], None);
        assert_eq!((egress.requests, egress.refused, egress.bytes), (6, 4, 30));
        let hosts: Vec<_> = egress.hosts.iter().map(|it| (it.host.as_str(), it.requests)).collect();
        assert_eq!(hosts, [("a", 2), ("b", 4)]);
    }

    #[test]
    fn a_sandbox_that_asks_for_a_million_hosts_does_not_hide_the_refused_one() {
        let many = (0..LIST_LIMIT + 7).map(|it| seen(&format!("a{it:05}.example"), 1, 0));
        let egress = Egress::of(many.chain([seen("z.evil.example", 1, 1)]), None);
        assert_eq!((egress.hosts.len(), egress.hosts_left_off), (LIST_LIMIT, 8));
        assert_eq!(egress.hosts.last().unwrap().host, "z.evil.example");
        assert_eq!(egress.requests, LIST_LIMIT as u64 + 8);
    }

    #[test]
    fn sums_do_not_overflow() {
        let egress = Egress::of([seen("a", u64::MAX, 0), seen("b", 1, 0)], None);
        assert_eq!(egress.requests, u64::MAX);
    }
}
