//! What somebody asks for: a network for one sandbox, and why it cannot be had.

use domain::{agent::AgentName, id::SandboxId, policy::EgressPhase};

use crate::secret::SecretName;

/// What a sandbox is to reach. It never gets more than the server's policy allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkWish {
    /// Rules as they stand in a policy: `github`, `registry:npm`, `{ host: api.example.com, methods: [POST] }`.
    pub allow: Vec<String>,
    /// Secrets that it may use by their placeholders, on the hosts that they are bound to.
    pub secrets: Vec<SecretName>,
    /// The agent that the run is of.
    pub agent: Option<AgentName>,
    /// Whose rules of the policy hold.
    pub phase: EgressPhase,
}

/// Why there is no network, or nothing to tell of it. Whoever tells it to a person adds what helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    #[error("`{text}` is not a rule: {what}")]
    NotARule {
        text: String,
        what: String,
        /// How it is written.
        help: String,
    },
    /// The policy does not allow all of it.
    #[error("{what}")]
    NotAllowed {
        what: String,
        phase: EgressPhase,
        /// All that was asked for, as it was written.
        asked: Vec<String>,
    },
    #[error("sandbox {0} has no way out now")]
    NotJoined(SandboxId),
    #[error("{reason}")]
    Address { reason: String },
    #[error("this server has no gateway, so sandboxes have no network")]
    NoGateway,
    #[error("this server was started without a file, so there is none to read again")]
    NoFile,
    /// What is wrong in the files changes nothing.
    #[error("{reason}")]
    WrongFiles { reason: String },
    #[error("{reason}")]
    Broken { reason: String },
}
