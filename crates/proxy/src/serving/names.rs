//! Names that programs look up, and the addresses that we make for them.
//!
//! Nothing is looked up outside. A name that may be reached gets an address from a range that nobody uses, and whoever connects to it
//! arrives at our door, where it means the name again. Addresses are given out in turn and not again for a long time, so one that
//! is no longer valid means nothing, rather than another name.
//!
//! **Invariant:** an address dies with the generation of the rules that it was made under.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    time::Instant,
};

use domain::policy::HostName;

use super::limits;

/// 198.18.0.0/15, for benchmarks between networks: no host is there.
const FIRST: u32 = 0xc612_0000;
const COUNT: u32 = 1 << 17;

/// The names of one sandbox that have an address.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_host: HashMap<HostName, u32>,
    by_address: HashMap<u32, Entry>,
    /// Counts uses, so that the one that was used longest ago is known.
    uses: u64,
    next: u32,
    refused: Option<RefusedName>,
}

/// The name that was refused last. Programs ask about both kinds of address at once, and again with other cases; that is one attempt.
#[derive(Debug)]
struct RefusedName {
    host: HostName,
    generation: u64,
    since: Instant,
}

#[derive(Debug)]
struct Entry {
    host: HostName,
    generation: u64,
    used: u64,
}

/// What an address stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    Host(HostName),
    /// One of ours that means nothing any more.
    Stale,
    /// Not one of ours.
    Foreign,
}

impl Meaning {
    /// Why an address cannot be used without a name.
    pub(super) fn unusable(&self) -> &'static str {
        match self {
            Self::Stale => "the address was made for earlier rules; look the name up again",
            Self::Host(_) | Self::Foreign => {
                "an address says nothing about the host; connect to it by its name"
            }
        }
    }
}

impl Names {
    /// The address of a name that may be reached under these rules.
    pub(super) fn address(&mut self, host: &HostName, generation: u64) -> Ipv4Addr {
        if let Some(address) = self.known(host, generation) {
            return address;
        }
        if let Some(old) = self.by_host.remove(host) {
            self.by_address.remove(&old);
        }
        if self.by_address.len() >= limits::NAMES {
            self.forget_one();
        }
        self.uses += 1;
        let offset = self.next;
        self.next = (self.next + 1) % COUNT;
        let entry = Entry { host: host.clone(), generation, used: self.uses };
        // The range is far larger than the table, so the one that was here is long gone.
        if let Some(old) = self.by_address.insert(offset, entry) {
            self.by_host.remove(&old.host);
        }
        self.by_host.insert(host.clone(), offset);
        Ipv4Addr::from(FIRST + offset)
    }

    /// The address that a name has already under these rules.
    pub(super) fn known(&mut self, host: &HostName, generation: u64) -> Option<Ipv4Addr> {
        let offset = *self.by_host.get(host)?;
        let entry =
            self.by_address.get_mut(&offset).filter(|entry| entry.generation >= generation)?;
        self.uses += 1;
        entry.used = self.uses;
        Some(Ipv4Addr::from(FIRST + offset))
    }

    /// What an address means under the rules of `generation`, or newer ones that it was made for.
    pub(super) fn meaning(&mut self, address: IpAddr, generation: u64) -> Meaning {
        let IpAddr::V4(address) = address.to_canonical() else { return Meaning::Foreign };
        let Some(offset) = u32::from(address).checked_sub(FIRST).filter(|offset| *offset < COUNT)
        else {
            return Meaning::Foreign;
        };
        match self.by_address.get_mut(&offset) {
            Some(entry) if entry.generation >= generation => {
                self.uses += 1;
                entry.used = self.uses;
                Meaning::Host(entry.host.clone())
            }
            Some(_) | None => Meaning::Stale,
        }
    }

    /// The broker has refused a name, and has written it down.
    pub(super) fn refused(&mut self, host: HostName, generation: u64) {
        self.refused = Some(RefusedName { host, generation, since: Instant::now() });
    }

    /// Whether a name was refused a moment ago, by the rules that hold.
    pub(super) fn was_refused(&self, host: &HostName, generation: u64) -> bool {
        self.refused.as_ref().is_some_and(|last| {
            last.host == *host
                && last.generation == generation
                && last.since.elapsed() < limits::ONE_ATTEMPT
        })
    }

    /// Forgets what was made under older rules.
    pub(super) fn forget_before(&mut self, generation: u64) {
        self.by_address.retain(|_offset, entry| entry.generation >= generation);
        let kept = &self.by_address;
        self.by_host.retain(|_host, offset| kept.contains_key(offset));
    }

    fn forget_one(&mut self) {
        let oldest = self.by_address.iter().min_by_key(|(_offset, entry)| entry.used);
        if let Some(offset) = oldest.map(|(offset, _entry)| *offset)
            && let Some(entry) = self.by_address.remove(&offset)
        {
            self.by_host.remove(&entry.host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> HostName {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_means_its_name_until_the_rules_change() {
        let mut names = Names::default();
        let address = names.address(&host("api.ok.test"), 3);
        assert_eq!(names.meaning(address.into(), 3), Meaning::Host(host("api.ok.test")));
        assert_eq!(
            names.meaning(address.to_ipv6_mapped().into(), 3),
            Meaning::Host(host("api.ok.test"))
        );
        names.forget_before(4);
        assert_eq!(names.meaning(address.into(), 4), Meaning::Stale);
        let again = names.address(&host("api.ok.test"), 4);
        assert_ne!(again, address);
        assert_eq!(names.meaning(address.into(), 4), Meaning::Stale);
    }

    #[test]
    fn an_answer_of_older_rules_gives_no_address_under_newer_ones() {
        let mut names = Names::default();
        let address = names.address(&host("api.ok.test"), 3);
        assert_eq!(names.meaning(address.into(), 4), Meaning::Stale);
        assert_eq!(names.known(&host("api.ok.test"), 4), None);
    }

    #[test]
    fn other_addresses_mean_nothing() {
        let mut names = Names::default();
        for text in ["1.2.3.4", "198.17.255.255", "198.20.0.0", "::1"] {
            assert_eq!(names.meaning(text.parse().unwrap(), 0), Meaning::Foreign, "{text}");
        }
        assert_eq!(names.meaning("198.19.255.255".parse().unwrap(), 0), Meaning::Stale);
    }

    #[test]
    fn a_full_table_forgets_what_was_used_longest_ago() {
        let mut names = Names::default();
        let first = names.address(&host("kept.test"), 1);
        for number in 0..limits::NAMES {
            names.address(&host(&format!("n{number}.test")), 1);
            assert!(names.known(&host("kept.test"), 1).is_some());
        }
        assert_eq!(names.by_address.len(), limits::NAMES);
        assert_eq!(names.by_host.len(), limits::NAMES);
        assert_eq!(names.meaning(first.into(), 1), Meaning::Host(host("kept.test")));
        assert_eq!(names.known(&host("n0.test"), 1), None);
    }
}
