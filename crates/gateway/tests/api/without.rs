//! A server without agents, networks and repositories: what the sockets of the door are plugged with where a test has none.

use contracts::{
    agent::{AgentEvent, Outcome, Presence, Words},
    egress::{
        Exchange, Explanation, Learned, LogWish, Network, NetworkError, NetworkWish, Reloaded,
    },
    sandbox::{Checkout, Listed, Owner, SandboxError},
};
use domain::{code::RepositoryName, id::SandboxId};
use futures::future::BoxFuture;
use gateway::sockets::{
    AgentDesk, Networks, Offered, Source, Sources, Start, WorkError, WrittenAgent,
};
use tokio::sync::mpsc;

pub(crate) struct Without;

impl AgentDesk for Without {
    fn list(&self) -> Offered {
        Offered::default()
    }

    fn written<'a>(
        &'a self,
        _repository: Option<&'a RepositoryName>,
    ) -> BoxFuture<'a, Result<Vec<WrittenAgent>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn inside<'a>(
        &'a self,
        _sandbox: &'a Listed,
    ) -> BoxFuture<'a, Result<Vec<(String, Presence)>, SandboxError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn work<'a>(
        &'a self,
        _sandbox: &'a Listed,
        _start: &'a Start,
        _words: mpsc::Receiver<Words>,
        _events: mpsc::Sender<AgentEvent>,
    ) -> BoxFuture<'a, Result<Outcome, WorkError>> {
        Box::pin(async { Err(WorkError::Unfit { reason: "there are no agents".to_owned() }) })
    }
}

impl Sources for Without {
    fn resolve<'a>(
        &'a self,
        wanted: &'a [Source],
    ) -> BoxFuture<'a, Result<Vec<Checkout>, SandboxError>> {
        let refused = wanted.first().map(|first| SandboxError::Source {
            repository: first.name.to_string(),
            reason: "there are no repositories".to_owned(),
        });
        Box::pin(async { refused.map_or_else(|| Ok(Vec::new()), Err) })
    }
}

impl Networks for Without {
    fn network(&self, _wish: &NetworkWish, _owner: &Owner) -> Result<Network, NetworkError> {
        Err(NetworkError::NoGateway)
    }

    fn for_setup(&self, _owner: &Owner) -> Option<Network> {
        None
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn explain(
        &self,
        _sandbox: SandboxId,
        _method: &str,
        _url: &str,
    ) -> Result<Explanation, NetworkError> {
        Err(NetworkError::NoGateway)
    }

    fn learned(&self, _sandbox: SandboxId) -> Result<Learned, NetworkError> {
        Err(NetworkError::NoGateway)
    }

    fn log(
        &self,
        _sandbox: SandboxId,
        _wish: LogWish,
    ) -> BoxFuture<'_, Result<Vec<Exchange>, NetworkError>> {
        Box::pin(async { Err(NetworkError::NoGateway) })
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, NetworkError>> {
        Box::pin(async { Err(NetworkError::NoGateway) })
    }
}
