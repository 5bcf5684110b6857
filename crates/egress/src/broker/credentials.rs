//! Where the broker gets credentials from, one request at a time.
//!
//! The room `secrets` keeps them; `server` joins the two. The broker holds no value between requests.

use std::collections::BTreeMap;

use contracts::{
    sandbox::Owner,
    secret::{SecretError, SecretName, SecretValue},
};
use domain::{agent::AgentName, id::SandboxId, policy::HostName};
use futures::future::BoxFuture;

use proxy::ask::Place;

/// For whom a credential is asked.
#[derive(Debug, Clone, Copy)]
pub struct For<'a> {
    pub sandbox: SandboxId,
    pub owner: &'a Owner,
    /// The agent that the run is of.
    pub agent: Option<&'a AgentName>,
    /// The secrets that this run may use.
    pub secrets: &'a [SecretName],
}

/// A secret that is bound to the host that was asked about.
#[derive(Debug, Clone)]
pub struct Bound {
    pub name: SecretName,
    pub placeholder: String,
    pub value: SecretValue,
    pub places: Vec<Endpoint>,
}

pub trait Credentials: Send + Sync + 'static {
    /// What stands inside for each secret. Made when a sandbox first joins, and the same until it is forgotten.
    fn placeholders<'a>(
        &'a self,
        whom: For<'a>,
    ) -> BoxFuture<'a, Result<BTreeMap<SecretName, String>, SecretError>>;

    /// Whether one of the secrets is bound to `host`, so that nothing is carried to it unseen.
    fn is_bound<'a>(&'a self, whom: For<'a>, host: &'a HostName) -> BoxFuture<'a, bool>;

    /// The secrets that are bound to `host`, with their values.
    fn bound<'a>(
        &'a self,
        whom: For<'a>,
        host: &'a HostName,
    ) -> BoxFuture<'a, Result<Vec<Bound>, SecretError>>;

    /// The key of a model provider. It is the server's own, and no run names it.
    fn key<'a>(
        &'a self,
        name: &'a SecretName,
        whom: For<'a>,
    ) -> BoxFuture<'a, Result<SecretValue, SecretError>>;

    /// Whether a model may be asked at all, also one that has no key: what is spent for a task has to be granted.
    fn may_ask<'a>(&'a self, whom: For<'a>) -> BoxFuture<'a, Result<(), SecretError>>;

    /// The sandbox rests or is gone: nothing is handed out for it until it joins again.
    fn left(&self, sandbox: SandboxId) -> BoxFuture<'_, ()>;

    /// The sandbox is gone for good: its placeholders mean nothing any more, and it has no grant. Whose it was is told where it is known.
    fn forgotten<'a>(&'a self, sandbox: SandboxId, owner: Option<&'a Owner>) -> BoxFuture<'a, ()>;
}

/// Closes what is kept on disk. `secrets::Sealer` is one.
pub trait Seal: Send + Sync + 'static {
    fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, String>;
    fn open(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, String>;
}
