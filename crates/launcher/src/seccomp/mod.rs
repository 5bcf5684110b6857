//! Which system calls are left.
//!
//! Two filters, both made once when the launcher starts:
//!
//! | filter | a call that is not named | what is named |
//! |---|---|---|
//! | denylist | passes | [`denied`], and calls whose arguments matter ([`arguments`], [`sockets`]) |
//! | allowlist | does not exist (`ENOSYS`) | [`allowed`], and the same |
//!
//! Calls that are newer than this list do not exist in either.
//!
//! A filter is a search tree over the numbers of the calls ([`program`]). The kernel tries a filter with every number when it
//! is put over a process, so that a list of comparisons of the same length would cost each launch six times as much (0.9
//! milliseconds in place of 0.15).

mod allowed;
mod arguments;
mod denied;
mod program;
mod sockets;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use launcher::plan::Strictness;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Fail(i32),
    /// The first rule whose tests all hold decides; the second part decides when none does.
    Look(Vec<Rule>, Outcome),
}

/// What becomes of a call whose arguments were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Pass,
    Fail(i32),
}

/// All tests must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) tests: Vec<Test>,
    pub(crate) outcome: Outcome,
}

/// A test of the lower 32 bits of an argument. The kernel reads no more of those that we test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    Equals {
        argument: u32,
        value: u32,
    },
    /// After only the bits of `mask` are kept.
    Masked {
        argument: u32,
        mask: u32,
        value: u32,
    },
    AnyBit {
        argument: u32,
        mask: u32,
    },
}

/// The calls of one filter, by number.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) named: BTreeMap<u32, Verdict>,
    /// For calls that are not named, up to [`NEWEST`].
    pub(crate) others: Outcome,
}

/// The newest call that we know. What comes later is refused until somebody has looked at it.
const NEWEST: u32 = 470;

/// Both filters.
#[derive(Debug)]
pub(crate) struct Filters {
    denylist: Vec<libc::sock_filter>,
    allowlist: Vec<libc::sock_filter>,
}

impl Filters {
    pub(crate) fn compile() -> Self {
        Self {
            denylist: program::compile(&calls(Strictness::Denylist)),
            allowlist: program::compile(&calls(Strictness::Allowlist)),
        }
    }

    pub(crate) fn of(&self, strictness: Strictness) -> &[libc::sock_filter] {
        match strictness {
            Strictness::Denylist => &self.denylist,
            Strictness::Allowlist => &self.allowlist,
        }
    }
}

fn calls(strictness: Strictness) -> Calls {
    let mut named = BTreeMap::new();
    let others = match strictness {
        Strictness::Denylist => Outcome::Pass,
        Strictness::Allowlist => {
            named.extend(allowed::calls().map(|call| (call, Verdict::Pass)));
            Outcome::Fail(libc::ENOSYS)
        }
    };
    named.extend(denied::calls(strictness));
    named.extend(arguments::calls());
    named.extend(sockets::calls());
    Calls { named, others }
}

/// The number of a call, as the filter sees it.
fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}
