//! What a caller's sandbox may reach, as the server's policy allows it.

use contracts::{
    egress::{
        Exchange, Explanation, Learned, LogWish, Network, NetworkError, NetworkWish, Reloaded,
    },
    sandbox::Owner,
};
use domain::id::SandboxId;
use futures::future::BoxFuture;

/// Turns wishes into networks. Never gives more than the policy of the server.
pub trait Networks: Send + Sync + 'static {
    /// A wish that the policy does not grant in full is refused, with what would be needed.
    fn network(&self, wish: &NetworkWish, owner: &Owner) -> Result<Network, NetworkError>;

    /// What the setup of an image may reach: all that the policy allows a setup.
    fn for_setup(&self, owner: &Owner) -> Option<Network>;

    /// Comes back when it is known what every bundle means, which hosts a registry has, for example: before something is explained or learnt.
    fn settled(&self) -> BoxFuture<'_, ()>;

    /// Which rule decides about a request of `sandbox`, and why.
    fn explain(
        &self,
        sandbox: SandboxId,
        method: &str,
        url: &str,
    ) -> Result<Explanation, NetworkError>;

    /// The smallest policy for what `sandbox` did and tried.
    fn learned(&self, sandbox: SandboxId) -> Result<Learned, NetworkError>;

    /// What `sandbox` did and tried, the oldest first, also when it is gone.
    fn log(
        &self,
        sandbox: SandboxId,
        wish: LogWish,
    ) -> BoxFuture<'_, Result<Vec<Exchange>, NetworkError>>;

    /// Reads the server's files again. What is wrong in them changes nothing.
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, NetworkError>>;
}
