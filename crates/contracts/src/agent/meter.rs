//! What models were asked and what it cost, as counted outside the sandbox.
//!
//! Programs say `end_turn` and exit with 0 when their model refused them. So whether a run came to anything is not asked of
//! the program alone: the gateway has seen every request.

use domain::{cost::Cost, id::SandboxId};

use crate::sandbox::Owner;

/// Counts what models are asked. The gateway's broker is one.
pub trait ModelMeter: Send + Sync + 'static {
    /// What `owner` has used so far. Never decreases.
    fn used_by(&self, owner: &Owner) -> Cost;

    /// What `sandbox` asked its models since this server knows it. Never decreases, except when the sandbox is gone.
    fn exchanges(&self, sandbox: SandboxId) -> Exchanges;
}

/// What one sandbox asked its models, added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// Requests that have no answer yet.
    pub under_way: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were refused, by the model or by the gateway, or broke.
    pub failed: u64,
    /// Those of them that there was no money for.
    pub over_budget: u64,
    /// How the last one failed, if the last one did: its status, and a sentence.
    pub last_failure: Option<(Option<u16>, String)>,
    pub used: Cost,
}
