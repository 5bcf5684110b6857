//! What sandboxes of this server may reach, for the door: by the layers that hold now, and by what the broker saw.

use std::{path::PathBuf, sync::Arc, time::Duration};

use contracts::{
    egress::{
        Exchange, Explanation, Learned, LogWish, Network, NetworkError, NetworkWish, Reloaded,
    },
    sandbox::Owner,
};
use domain::{id::SandboxId, policy::Ecosystem};
use egress::broker::{Broker, BrokerError, learn::Proposal};
use futures::future::BoxFuture;
use provision::OWNER;

use crate::{egress_log, reload::Reloader};

/// How long package managers may take to say where their registries are.
const PATIENCE: Duration = Duration::from_secs(30);

/// Grants networks, by the layers that hold now.
#[derive(Debug)]
pub(crate) struct Networks {
    pub(crate) reloader: Arc<Reloader>,
    pub(crate) broker: Arc<Broker>,
    /// Where exchanges are written down.
    pub(crate) log: PathBuf,
}

impl Networks {
    /// Comes back when it is known where all registries are. One that never answers keeps nobody waiting for ever; what it would have said
    /// is then not among what is told.
    async fn settled(&self) {
        let registries = self.broker.registries();
        drop(tokio::time::timeout(PATIENCE, registries.learn(Ecosystem::ALL)).await);
    }

    /// What the setup of an image may reach: all that the policy allows a setup.
    pub(crate) fn for_setup(&self, owner: &Owner) -> Network {
        self.reloader.layers().for_setup(owner)
    }
}

impl gateway::sockets::Networks for Networks {
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.settled())
    }

    fn network(&self, wish: &NetworkWish, owner: &Owner) -> Result<Network, NetworkError> {
        self.reloader.layers().network(wish, owner)
    }

    fn for_setup(&self, owner: &Owner) -> Option<Network> {
        Some(self.for_setup(owner))
    }

    fn explain(
        &self,
        sandbox: SandboxId,
        method: &str,
        url: &str,
    ) -> Result<Explanation, NetworkError> {
        self.broker.explain(sandbox, method, url).map_err(|error| refused(&error))
    }

    fn learned(&self, sandbox: SandboxId) -> Result<Learned, NetworkError> {
        let proposal = self.broker.learn(sandbox).map_err(|error| refused(&error))?;
        let yaml = proposal.to_yaml();
        let Proposal { phase, rules, forgotten } = proposal;
        Ok(Learned { phase, rules, forgotten, yaml })
    }

    fn log(
        &self,
        sandbox: SandboxId,
        wish: LogWish,
    ) -> BoxFuture<'_, Result<Vec<Exchange>, NetworkError>> {
        let log = self.log.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || egress_log::read(&log, sandbox, wish));
            let broken = |reason: String| NetworkError::Broken { reason };
            let read = read.await.map_err(|error| broken(error.to_string()))?;
            read.map_err(|error| broken(error.to_string()))
        })
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, NetworkError>> {
        Box::pin(self.reloader.reload(OWNER))
    }
}

fn refused(error: &BrokerError) -> NetworkError {
    match error {
        BrokerError::NotJoined(sandbox) => NetworkError::NotJoined(*sandbox),
        BrokerError::Url(_) => NetworkError::Address { reason: error.to_string() },
        BrokerError::Directory(_) | BrokerError::Spent(_) | BrokerError::Kept(_) => {
            NetworkError::Broken { reason: error.to_string() }
        }
    }
}
