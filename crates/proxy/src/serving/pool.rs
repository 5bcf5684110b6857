//! Connections to hosts that wait for the next request of the same sandbox.
//!
//! **Invariant:** a connection is used again only for a grant that dials the same place in the same way with the same credentials. Of the
//! credentials only a hash is kept.

use std::{
    fmt,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use aws_lc_rs::digest;

use super::{limits, upstream::Upstream};
use crate::ask::{Dial, Grant, Scheme};

/// What two grants must have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    host: String,
    port: u16,
    scheme: Scheme,
    addresses: Option<Vec<IpAddr>>,
    credentials: Vec<u8>,
}

impl Identity {
    pub(super) fn of(grant: &Grant) -> Self {
        let (host, port, addresses) = match &grant.dial {
            Dial::Public { host, port } => (host, *port, None),
            Dial::Pinned { host, port, addresses, .. } => (host, *port, Some(addresses.clone())),
        };
        let mut hash = digest::Context::new(&digest::SHA256);
        let mut add = |part: &[u8]| {
            hash.update(&part.len().to_le_bytes());
            hash.update(part);
        };
        if let Dial::Pinned { authority: Some(authority), .. } = &grant.dial {
            add(authority.as_bytes());
        }
        add(grant.rule.as_bytes());
        for (name, value) in &grant.set {
            add(name.as_bytes());
            add(value.0.as_bytes());
        }
        for swap in &grant.swaps {
            add(swap.placeholder.as_bytes());
            add(swap.value.0.as_bytes());
        }
        Self {
            host: host.clone(),
            port,
            scheme: grant.scheme,
            addresses,
            credentials: hash.finish().as_ref().to_vec(),
        }
    }
}

#[derive(Default)]
pub(super) struct Pool {
    waiting: Mutex<Vec<Waiting>>,
}

struct Waiting {
    identity: Identity,
    upstream: Upstream,
    since: Instant,
}

impl Pool {
    /// One that waits and is still good. The one that was used last is the likeliest to live.
    pub(super) fn take(&self, identity: &Identity) -> Option<Upstream> {
        let mut waiting = self.waiting();
        waiting.retain(|one| one.since.elapsed() < limits::UPSTREAM_IDLE);
        while let Some(at) = waiting.iter().rposition(|one| one.identity == *identity) {
            let mut found = waiting.remove(at);
            if found.upstream.is_quiet() {
                return Some(found.upstream);
            }
        }
        None
    }

    /// Keeps one for the next request.
    pub(super) fn put(&self, identity: Identity, upstream: Upstream) {
        let mut waiting = self.waiting();
        waiting.retain(|one| one.since.elapsed() < limits::UPSTREAM_IDLE);
        if waiting.len() >= limits::IDLE_UPSTREAM {
            waiting.remove(0);
        }
        waiting.push(Waiting { identity, upstream, since: Instant::now() });
    }

    pub(super) fn clear(&self) {
        self.waiting().clear();
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
