//! Sandboxes that come and go: [`contracts::egress::Road`].

use std::sync::Arc;

use contracts::{
    egress::{Door, DoorKind, EgressError, Inside, Network, Road},
    sandbox::Owner,
};
use domain::{id::SandboxId, policy::BudgetScope};
use futures::future::BoxFuture;

use super::{
    Broker,
    credentials::For,
    kept::Remembered,
    ledger::What,
    member::{Member, lock},
    whose,
};
use crate::trust;
use proxy::{ask::DoorNumber, certificates};

impl Road for Broker {
    fn join<'a>(
        &'a self,
        sandbox: SandboxId,
        network: Option<&'a Network>,
        doors: Vec<Door>,
    ) -> BoxFuture<'a, Result<Inside, EgressError>> {
        Box::pin(self.let_in(sandbox, network, doors))
    }

    fn leave(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<(), EgressError>> {
        Box::pin(self.let_out(sandbox))
    }

    fn forget(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<(), EgressError>> {
        Box::pin(async move {
            self.let_out(sandbox).await?;
            let member = lock(&self.members).remove(&sandbox);
            let owner = match &member {
                Some(member) => Some(member.owner.clone()),
                // What cannot be read is removed as well.
                None => self
                    .kept
                    .read(sandbox, self.settings.seal.as_ref())
                    .ok()
                    .flatten()
                    .map(|before| before.network.owner),
            };
            self.settings.credentials.forgotten(sandbox, owner.as_ref()).await;
            if let Some(member) = member {
                self.abandon(&member);
            }
            if let Some(Owner::Person(_)) = owner {
                // It counted as a task of its own. What others share goes on.
                let mut purses = lock(&self.purses);
                purses.forget(BudgetScope::Task, &sandbox.to_string());
                super::keep_spent(&self.settings.directory, &purses.kept());
            }
            self.kept.remove(sandbox).map_err(|error| EgressError::Invalid(error.to_string()))?;
            let what = What::Forgotten;
            let mut record = super::Record::new(self.now(), None, None, what);
            record.sandbox = Some(sandbox.to_string());
            self.write(&record);
            Ok(())
        })
    }
}

impl Broker {
    async fn let_in(
        &self,
        sandbox: SandboxId,
        network: Option<&Network>,
        doors: Vec<Door>,
    ) -> Result<Inside, EgressError> {
        let invalid = |error: &dyn std::error::Error| EgressError::Invalid(told(error));
        let link = lock(&self.link).clone();
        let link =
            link.ok_or_else(|| EgressError::Gone { reason: "it is not started".to_owned() })?;
        let seal = self.settings.seal.as_ref();
        let before = self.kept.read(sandbox, seal).map_err(|error| invalid(&error))?;
        let remembered = self.next(sandbox, network, before)?;
        self.kept.write(sandbox, &remembered, seal).map_err(|error| invalid(&error))?;
        let Remembered { network, authority, generation } = remembered;

        let whom = For {
            sandbox,
            owner: &network.owner,
            agent: network.agent.as_ref(),
            secrets: &network.secrets,
        };
        let placeholders = self.settings.credentials.placeholders(whom).await;
        let placeholders = placeholders.map_err(|error| invalid(&error))?;
        let mut inside = trust::inside(&authority, &self.settings.roots, self.now())
            .map_err(|error| invalid(&error))?;
        let variables = placeholders.into_iter().map(|(name, value)| (name.to_string(), value));
        inside.variables.extend(variables);
        for (name, value) in &network.variables {
            inside.variables.entry(name.clone()).or_insert_with(|| value.clone());
        }

        let standing = self.standing();
        let ruling = standing.ruling(&network, generation);
        let member = Arc::new(Member::new(sandbox, network, ruling, authority.clone()));
        let former = lock(&self.members).insert(sandbox, Arc::clone(&member));
        // What came to hold meanwhile was said to those who had joined, and this one had not.
        let now = self.standing();
        if !Arc::ptr_eq(&standing, &now) {
            member.replace(None, now.ruling(&member.given(), generation));
        }
        // One that has left has nothing open.
        let is_renewed = former.as_ref().is_some_and(|former| former.leave());
        if let Some(former) = former {
            *lock(&member.traffic) = std::mem::take(&mut *lock(&former.traffic));
            *lock(&member.seen) = std::mem::take(&mut *lock(&former.seen));
            *lock(&member.looks) = std::mem::take(&mut *lock(&former.looks));
            *lock(&member.causes) = std::mem::take(&mut *lock(&former.causes));
            *lock(&member.open) = std::mem::take(&mut *lock(&former.open));
        }
        let doors = doors.into_iter().map(|door| (number(door.kind), door.socket)).collect();
        if let Err(error) = link.join(whose(sandbox), doors, authority).await {
            member.leave();
            return Err(EgressError::Gone { reason: told(&error) });
        }
        self.record(Some(&member), What::Joined { generation });
        if is_renewed {
            // What was allowed before, and is not now, ends.
            self.announce(&member, generation).await;
        }
        Ok(inside)
    }

    /// What holds from now on: the network that is said, or the one that was said last; always the authority of before.
    fn next(
        &self,
        sandbox: SandboxId,
        network: Option<&Network>,
        before: Option<Remembered>,
    ) -> Result<Remembered, EgressError> {
        // What holds for every sandbox may have changed often since it was written down.
        let current = self.member(sandbox).map_or(0, |member| member.ruling().generation);
        let generation = before.as_ref().map_or(0, |before| before.generation).max(current) + 1;
        match (network, before) {
            (None, None) => Err(EgressError::Unknown(sandbox)),
            (None, Some(before)) => Ok(Remembered { generation, ..before }),
            (Some(network), Some(before)) => {
                Ok(Remembered { network: network.clone(), authority: before.authority, generation })
            }
            (Some(network), None) => {
                let authority = certificates::make(sandbox, self.now())
                    .map_err(|error| EgressError::Invalid(told(&error)))?;
                Ok(Remembered { network: network.clone(), authority, generation })
            }
        }
    }

    async fn let_out(&self, sandbox: SandboxId) -> Result<(), EgressError> {
        // First of all, so that no answer that is under way carries a credential.
        let member = self.member(sandbox);
        let was_present = member.as_ref().is_some_and(|member| member.leave());
        self.settings.credentials.left(sandbox).await;
        let Some(member) = member.filter(|_| was_present) else { return Ok(()) };
        self.record(Some(&member), What::Left);
        let link = lock(&self.link).clone();
        let Some(link) = link else { return Ok(()) };
        match link.leave(whose(sandbox)).await {
            Ok(()) => Ok(()),
            // A gateway that does not hear is a gateway that ends, and its doors with it.
            Err(error) => {
                link.close();
                Err(EgressError::Gone { reason: told(&error) })
            }
        }
    }
}

const fn number(kind: DoorKind) -> DoorNumber {
    match kind {
        DoorKind::Proxy => DoorNumber::Proxy,
        DoorKind::Socks => DoorNumber::Socks,
        DoorKind::Port(port) => DoorNumber::Port(port),
        DoorKind::Names => DoorNumber::Names,
        DoorKind::NamesOverTcp => DoorNumber::NamesOverTcp,
    }
}

/// An error with its causes, in one line.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
