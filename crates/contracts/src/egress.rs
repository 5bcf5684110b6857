//! The only way out of a sandbox.
//!
//! A sandbox has a loopback and nothing else. *Doors* are sockets that listen in its network, but belong to the host: whatever
//! connects inside arrives at the gateway, and by the door it came through the gateway knows whose it is. No packet
//! leaves a sandbox, so what the gateway does not carry goes nowhere.
//!
//! ```text
//!  inside                          │ outside
//!  program ── connect ──▶ [door] ──┼──▶ gateway ── may it? ──▶ broker (policy, secrets, budgets)
//!                                  │       └── dials what was allowed
//! ```
//!
//! **Invariant:** a sandbox that never joined, or has left, reaches nothing.

mod asked;
mod told;

use std::{collections::BTreeMap, net::IpAddr, os::fd::OwnedFd};

use domain::{
    agent::AgentName,
    code::RepositoryName,
    id::SandboxId,
    money::Money,
    policy::{Egress, EgressPhase, HostName},
};
use futures::future::BoxFuture;

pub use asked::{NetworkError, NetworkWish};
pub use told::{
    Denial, Exchange, Explanation, Handling, LayerSays, Learned, LearnedRule, ListName, LogWish,
    Need, Reloaded, RuleChange, Says, Turn, Verdict,
};

use crate::{owner::Owner, secret::SecretName};

/// Opens and closes the way out.
pub trait Road: Send + Sync + 'static {
    /// From now on what arrives at `doors` is carried for `sandbox`, as `network` allows. Joining again adds the doors to those that
    /// it has, and replaces the network unless it is `None`: then the one that was said last holds, because a restarted
    /// server does not know it.
    fn join<'a>(
        &'a self,
        sandbox: SandboxId,
        network: Option<&'a Network>,
        doors: Vec<Door>,
    ) -> BoxFuture<'a, Result<Inside, EgressError>>;

    /// The sandbox stands still or rests: its connections end, its secrets are withdrawn, its network is remembered.
    fn leave(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<(), EgressError>>;

    /// The sandbox is gone: nothing is remembered of it but the audit log.
    fn forget(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<(), EgressError>>;
}

/// A socket that listens inside and is accepted from outside.
#[derive(Debug)]
pub struct Door {
    pub kind: DoorKind,
    pub socket: OwnedFd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DoorKind {
    /// An HTTP proxy: `CONNECT` and requests in absolute form.
    Proxy,
    /// SOCKS 5.
    Socks,
    /// Every address, at one port: for programs that know of no proxy.
    Port(u16),
    /// Names, over UDP.
    Names,
    /// Names, over TCP.
    NamesOverTcp,
}

impl DoorKind {
    /// Where the HTTP proxy listens, on the loopback inside.
    pub const PROXY_PORT: u16 = 3128;
    /// Where SOCKS 5 is spoken, on the loopback inside.
    pub const SOCKS_PORT: u16 = 1080;
    /// Where names are looked up, on the loopback inside.
    pub const NAMES_PORT: u16 = 53;
    /// Ports that are open for programs without a proxy, whatever the policy says: a denial is then told, not only felt.
    pub const ALWAYS: [u16; 2] = [80, 443];
}

/// By whom, beside owner and agent, what a sandbox spends on models is paid, and how much it may be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending {
    /// The person whom it is for, where the owner is a task.
    pub person: Option<String>,
    /// The repository that is changed.
    pub repository: Option<RepositoryName>,
    /// For all sandboxes of the owner together, within the server's ceiling. `None`: what the server gives who says nothing.
    pub limit: Option<Money>,
}

/// What a sandbox may reach, and with which credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub owner: Owner,
    /// The agent that the run is of, as its owner says. Secrets that name agents are for theirs alone.
    pub agent: Option<AgentName>,
    pub phase: EgressPhase,
    /// All layers, the approval's conditions included. The phase above is the one that counts.
    pub egress: Egress,
    /// Branches that may be pushed to. Empty before the gate.
    pub pushes: Vec<Push>,
    /// Secrets that this run may use by their placeholders, each only on the hosts that it is bound to.
    pub secrets: Vec<SecretName>,
    /// Private hosts that rules name as `internal:NAME`.
    pub internal: BTreeMap<String, Internal>,
    pub spending: Spending,
    /// Variables that every program inside gets, and that are nobody's secret. Those that show the way out go before them.
    pub variables: BTreeMap<String, String>,
}

impl Network {
    /// Reaches nothing.
    pub fn closed(owner: Owner) -> Self {
        Self {
            owner,
            agent: None,
            phase: EgressPhase::Implement,
            egress: Egress::default(),
            pushes: Vec::new(),
            secrets: Vec::new(),
            internal: BTreeMap::new(),
            spending: Spending::default(),
            variables: BTreeMap::new(),
        }
    }

    /// The ports that programs without a proxy may use.
    pub fn ports(&self) -> std::collections::BTreeSet<u16> {
        let layers = self.egress.layers(self.phase);
        let named =
            layers.flat_map(|rules| rules.allow.iter()).flat_map(domain::policy::Rule::ports);
        let internal = self.internal.values().flat_map(|host| host.ports.iter().copied());
        DoorKind::ALWAYS.into_iter().chain(named).chain(internal).collect()
    }
}

/// The right to push to one branch of one repository: forwards only, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    pub host: HostName,
    /// `owner/name`, without `.git`.
    pub repository: String,
    /// Without `refs/heads/`.
    pub branch: String,
}

/// A private host, with the addresses that it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Internal {
    pub host: HostName,
    pub ports: Vec<u16>,
    pub addresses: Vec<IpAddr>,
    /// Certificates of the authority that vouches for it, as PEM.
    pub authority: Option<String>,
}

/// What has to be put inside, so that programs find the way by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inside {
    /// For every program; a command's own environment goes before it.
    pub variables: BTreeMap<String, String>,
    /// Owned by root inside, readable by everybody.
    pub files: Vec<InsideFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsideFile {
    /// Absolute, inside.
    pub path: String,
    pub bytes: Vec<u8>,
    pub when: When,
}

/// Whether a file is made, or only replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// A certificate bundle that the image has must know our authority; one that it does not have is not missed.
    IfThere,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    #[error("the gateway does not run: {reason}; sandboxes reach nothing until it is back")]
    Gone { reason: String },
    #[error("nothing is known of the network of sandbox {0}")]
    Unknown(SandboxId),
    #[error("{0}")]
    Invalid(String),
}
