//! Credentials for the broker, from the room that keeps them.

use std::{collections::BTreeMap, sync::Arc};

use contracts::{
    sandbox::Owner,
    secret::{SecretError, SecretName, SecretSource as _, SecretValue},
};
use domain::{id::SandboxId, policy::HostName};
use egress::broker::credentials::{Bound, Credentials, For, Seal};
use futures::future::BoxFuture;
use proxy::ask;
use secrets::{binding::Placement, keeper::Keeper, seal::Sealer};

/// Hands out what a run may have. A task's sandbox must have been granted; a person's is the person's own.
#[derive(Debug)]
pub(super) struct Handed(pub(super) Keeper);

impl Handed {
    async fn value(&self, name: &SecretName, whom: For<'_>) -> Result<SecretValue, SecretError> {
        match whom.owner {
            Owner::Task(task) => self.0.value(name, *task, whom.sandbox).await,
            Owner::Person(_) => self.0.for_the_server(name),
        }
    }

    /// Those of a run's secrets that are bound to a host, with the places where they may stand.
    fn named(&self, whom: For<'_>, host: &HostName) -> Vec<(SecretName, Vec<ask::Place>)> {
        let described = whom.secrets.iter().filter_map(|name| self.0.describe(name));
        let open = described.filter(|secret| secret.binding.allows_agent(whom.agent));
        let bound = open.filter(|secret| secret.binding.allows_host(host));
        bound.map(|it| (it.name, it.binding.places.iter().map(place).collect())).collect()
    }

    fn standing_for(&self, whom: For<'_>) -> Result<BTreeMap<SecretName, String>, SecretError> {
        let all = self.0.placeholders(whom.sandbox, whom.secrets);
        let all = all.map_err(|error| SecretError::Busy { reason: error.to_string() })?;
        Ok(all.into_iter().map(|(name, one)| (name, one.to_string())).collect())
    }
}

impl Credentials for Handed {
    fn placeholders<'a>(
        &'a self,
        whom: For<'a>,
    ) -> BoxFuture<'a, Result<BTreeMap<SecretName, String>, SecretError>> {
        Box::pin(async move {
            for name in whom.secrets {
                match self.0.describe(name) {
                    None => return Err(SecretError::Unknown(name.clone())),
                    Some(secret) if !secret.binding.allows_agent(whom.agent) => {
                        return Err(SecretError::ForAgents(name.clone()));
                    }
                    Some(_) => {}
                }
            }
            self.standing_for(whom)
        })
    }

    fn is_bound<'a>(&'a self, whom: For<'a>, host: &'a HostName) -> BoxFuture<'a, bool> {
        Box::pin(async move { !self.named(whom, host).is_empty() })
    }

    fn bound<'a>(
        &'a self,
        whom: For<'a>,
        host: &'a HostName,
    ) -> BoxFuture<'a, Result<Vec<Bound>, SecretError>> {
        Box::pin(async move {
            let named = self.named(whom, host);
            if named.is_empty() {
                return Ok(Vec::new());
            }
            let standing = self.standing_for(whom)?;
            let mut bound = Vec::with_capacity(named.len());
            for (name, places) in named {
                let Some(placeholder) = standing.get(&name).cloned() else { continue };
                let value = self.value(&name, whom).await?;
                bound.push(Bound { name, placeholder, value, places });
            }
            Ok(bound)
        })
    }

    fn key<'a>(
        &'a self,
        name: &'a SecretName,
        _whom: For<'a>,
    ) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(async move { self.0.for_the_server(name) })
    }

    fn may_ask<'a>(&'a self, whom: For<'a>) -> BoxFuture<'a, Result<(), SecretError>> {
        Box::pin(async move {
            match whom.owner {
                Owner::Task(task) => self.0.granted(*task, whom.sandbox).await,
                Owner::Person(_) => Ok(()),
            }
        })
    }

    fn left(&self, _sandbox: SandboxId) -> BoxFuture<'_, ()> {
        // A task's grants are withdrawn by the engine; the broker asks nothing more for one that has left.
        Box::pin(async {})
    }

    fn forgotten<'a>(&'a self, sandbox: SandboxId, owner: Option<&'a Owner>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Err(error) = self.0.forget(sandbox) {
                tracing::warn!(%sandbox, %error, "placeholders are kept that mean nothing any more");
            }
            if let Some(Owner::Task(task)) = owner
                && let Err(error) = self.0.end_grant(*task, sandbox)
            {
                tracing::warn!(%sandbox, %error, "a grant is kept of a sandbox that is gone");
            }
        })
    }
}

fn place(place: &Placement) -> ask::Place {
    match place {
        Placement::Header(header) => ask::Place::Header(header.name().to_owned()),
        Placement::Basic => ask::Place::Basic,
        Placement::Query(parameter) => ask::Place::Query(parameter.as_str().to_owned()),
    }
}

/// Seals what the broker keeps, with the master key of the secrets.
#[derive(Debug)]
pub(super) struct Sealed(pub(super) Arc<Sealer>);

impl Seal for Sealed {
    fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, String> {
        self.0.seal(context, plain).map_err(|error| error.to_string())
    }

    fn open(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, String> {
        let opened = self.0.open(context, sealed).map_err(|error| error.to_string())?;
        Ok(opened.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use contracts::Key;
    use domain::{id::TaskId, time::Timestamp};
    use secrets::{
        binding::{Binding, Exposure},
        keeper::{Entry, Master},
        randomness::SystemRandomness,
    };

    use super::*;

    #[tokio::test]
    async fn a_secret_that_names_agents_is_handed_to_their_runs_alone() {
        let at = tempfile::tempdir().unwrap();
        let master = Master::File(at.path().join("master.key"));
        let keeper = Keeper::open(at.path().join("secrets"), master, SystemRandomness).unwrap();
        let binding = |agents: &[&str]| Binding {
            hosts: vec!["api.example.com".parse().unwrap()],
            places: vec![Placement::Basic],
            agents: agents.iter().map(|agent| agent.parse().unwrap()).collect(),
            exposure: Exposure::Never,
        };
        for (name, agents) in [("OPEN", &[][..]), ("CLOSED", &["fixer"][..])] {
            let (name, value) = (name.parse().unwrap(), SecretValue::new("12345678".to_owned()));
            let entry = Entry { name, value, binding: binding(agents), note: String::new() };
            keeper.set(entry, Timestamp::from_millis(0)).unwrap();
        }
        let handed = Handed(keeper);
        let (owner, host) = (Owner::Person("ann".to_owned()), "api.example.com".parse().unwrap());
        let (open, closed) = (["OPEN".parse().unwrap()], ["CLOSED".parse().unwrap()]);
        let sandbox = SandboxId::from_u128(1);
        let whom = |secrets| For { sandbox, owner: &owner, agent: None, secrets };
        let (fixer, other) = ("fixer".parse().unwrap(), "other".parse().unwrap());
        assert_eq!(handed.bound(whom(&open), &host).await.unwrap().len(), 1, "the control");
        assert_eq!(handed.placeholders(whom(&open)).await.unwrap().len(), 1, "the control");
        for agent in [None, Some(&other)] {
            let whom = For { agent, ..whom(&closed) };
            assert!(handed.bound(whom, &host).await.unwrap().is_empty());
            assert!(!handed.is_bound(whom, &host).await);
            let refused = handed.placeholders(whom).await.unwrap_err();
            assert!(matches!(refused, SecretError::ForAgents(_)), "{refused}");
        }
        let theirs = For { agent: Some(&fixer), ..whom(&closed) };
        assert_eq!(handed.bound(theirs, &host).await.unwrap().len(), 1);
        assert_eq!(handed.placeholders(theirs).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_task_asks_models_only_while_it_is_granted() {
        let at = tempfile::tempdir().unwrap();
        let master = Master::File(at.path().join("master.key"));
        let keeper = Keeper::open(at.path().join("secrets"), master, SystemRandomness).unwrap();
        let handed = Handed(keeper.clone());
        let (task, sandbox) = (TaskId::from_u128(1), SandboxId::from_u128(2));
        let (owner, person) = (Owner::Task(task), Owner::Person("ann".to_owned()));
        let whom = |owner| For { sandbox, owner, agent: None, secrets: &[] };
        let key = |seq| Key { task, seq, part: "credentials", number: 0 };
        assert_eq!(handed.may_ask(whom(&owner)).await, Err(SecretError::Revoked));
        assert_eq!(handed.may_ask(whom(&person)).await, Ok(()), "it is their own");
        keeper.grant(key(1), sandbox).await.unwrap();
        assert_eq!(handed.may_ask(whom(&owner)).await, Ok(()));
        keeper.revoke(key(2)).await.unwrap();
        assert_eq!(handed.may_ask(whom(&owner)).await, Err(SecretError::Revoked));
    }
}
