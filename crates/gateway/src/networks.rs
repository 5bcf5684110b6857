//! What a caller's sandbox may reach, as the server's policy allows it.

use contracts::{egress::Network, sandbox::Owner};
use domain::id::SandboxId;
use futures::future::BoxFuture;
use wire::{
    egress::{
        EgressLog, EgressLogQuery, ExplainEgress, ExplainedEgress, LearnedEgress, ReloadedPolicy,
    },
    error::{Code, Problem},
    sandbox::NetworkWish,
};

/// Turns wishes into networks. Never gives more than the policy of the server.
pub trait NetworkResolver: Send + Sync + 'static {
    /// A wish that the policy does not grant in full is refused, with the rule that would be needed.
    fn network(&self, wish: &NetworkWish, owner: &Owner) -> Result<Network, Problem>;

    /// What the setup of an image may reach: all that the policy allows a setup.
    fn for_setup(&self, owner: &Owner) -> Option<Network>;

    /// Comes back when it is known what rules mean: which hosts a registry has, for example.
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Which rule decides about a request of `sandbox`, and why.
    fn explain(
        &self,
        _sandbox: SandboxId,
        _wish: &ExplainEgress,
    ) -> Result<ExplainedEgress, Problem> {
        Err(no_gateway())
    }

    /// The smallest policy for what `sandbox` did and tried.
    fn learned(&self, _sandbox: SandboxId) -> Result<LearnedEgress, Problem> {
        Err(no_gateway())
    }

    /// What `sandbox` did and tried, also when it is gone.
    fn log(
        &self,
        _sandbox: SandboxId,
        _query: EgressLogQuery,
    ) -> BoxFuture<'_, Result<EgressLog, Problem>> {
        Box::pin(async { Err(no_gateway()) })
    }

    /// Reads the server's files again. What is wrong in them changes nothing.
    fn reload(&self) -> BoxFuture<'_, Result<ReloadedPolicy, Problem>> {
        Box::pin(async { Err(no_gateway()) })
    }
}

fn no_gateway() -> Problem {
    Problem::new(Code::Unsupported, "this server has no gateway, so sandboxes have no network")
}

/// For a server without a gateway: refuses every network.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNetworks;

impl NetworkResolver for NoNetworks {
    fn network(&self, _wish: &NetworkWish, _owner: &Owner) -> Result<Network, Problem> {
        Err(Problem::new(
            Code::Unsupported,
            "this server has no gateway, so sandboxes have no network",
        ))
    }

    fn for_setup(&self, _owner: &Owner) -> Option<Network> {
        None
    }
}
