//! Secrets for the engine: [`contracts::secret::SecretSource`] over the keeper, and the promise that what was withdrawn spends nothing
//! more.
//!
//! The gateway asks the keeper before every request to a model (`gatekeeper`), so a task's sandbox asks models only while it is granted.
//! A request that was let through before is paid for when it ends: until then a withdrawal is not done.

use std::{fmt, sync::Arc, time::Duration};

use contracts::{
    Key,
    agent::ModelMeter,
    sandbox::{Owner, Sandboxes},
    secret::{SecretError, SecretName, SecretSource, SecretValue},
};
use domain::id::{SandboxId, TaskId};
use secrets::keeper::Keeper;

/// How long requests that are under way are waited for. Then somebody asks again.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// How often they are looked for.
const MOMENT: Duration = Duration::from_millis(20);

pub(crate) struct Purse<S> {
    pub(super) keeper: Keeper,
    pub(super) meter: Arc<dyn ModelMeter>,
    pub(super) sandboxes: S,
    /// [`PATIENCE`].
    pub(super) patience: Duration,
}

impl<S> fmt::Debug for Purse<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purse").field("keeper", &self.keeper).finish_non_exhaustive()
    }
}

impl<S: Sandboxes> SecretSource for Purse<S> {
    async fn grant(&self, key: Key, sandbox: SandboxId) -> Result<(), SecretError> {
        self.keeper.grant(key, sandbox).await
    }

    async fn value(
        &self,
        name: &SecretName,
        task: TaskId,
        sandbox: SandboxId,
    ) -> Result<SecretValue, SecretError> {
        self.keeper.value(name, task, sandbox).await
    }

    async fn revoke(&self, key: Key) -> Result<(), SecretError> {
        self.keeper.revoke(key).await?;
        let still = tokio::time::timeout(self.patience, self.settled(key.task)).await;
        still.unwrap_or_else(|_late| {
            let reason = "a model still answers what it was asked before".to_owned();
            Err(SecretError::Busy { reason })
        })
    }
}

impl<S: Sandboxes> Purse<S> {
    /// Comes back when no sandbox of the task that is not granted any more has a request under way.
    async fn settled(&self, task: TaskId) -> Result<(), SecretError> {
        let listed = self.sandboxes.list().await;
        let listed = listed.map_err(|error| SecretError::Busy { reason: error.to_string() })?;
        let ours = listed.into_iter().filter(|one| one.owner == Owner::Task(task));
        for sandbox in ours.map(|one| one.id) {
            match self.keeper.granted(task, sandbox).await {
                Ok(()) => continue,
                Err(SecretError::Revoked) => {}
                Err(
                    error @ (SecretError::Unknown(_)
                    | SecretError::ForAgents(_)
                    | SecretError::Busy { .. }),
                ) => return Err(error),
            }
            while self.meter.exchanges(sandbox).under_way > 0 {
                let _passed = tokio::time::timeout(MOMENT, std::future::pending::<()>()).await;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use contracts::{
        agent::Exchanges,
        promises,
        sandbox::{Compute, Hooks, Spec, Use, WorkspaceAccess},
    };
    use domain::{agent::Tier, cost::Cost, task::Purpose, time::Timestamp};
    use secrets::{
        binding::{Binding, Exposure, Placement},
        keeper::{Entry, Master},
        randomness::SystemRandomness,
    };
    use testkit::{ledger::Ledger, world::ScriptedSandboxes};

    use super::*;

    #[derive(Debug, Default)]
    struct Scripted(AtomicU64);

    impl ModelMeter for Scripted {
        fn used_by(&self, _owner: &Owner) -> Cost {
            Cost::ZERO
        }

        fn exchanges(&self, _sandbox: SandboxId) -> Exchanges {
            let under_way = self.0.load(Ordering::Relaxed);
            Exchanges { under_way, ..Exchanges::default() }
        }
    }

    fn keeper(directory: &std::path::Path) -> Keeper {
        let master = Master::File(directory.join("master.key"));
        let keeper = Keeper::open(directory.join("secrets"), master, SystemRandomness).unwrap();
        let binding = Binding {
            hosts: vec!["api.example.com".parse().unwrap()],
            places: vec![Placement::Basic],
            agents: vec![],
            exposure: Exposure::Never,
        };
        let value = SecretValue::new("a-value-nobody-may-see".to_owned());
        let entry = Entry { name: "KNOWN".parse().unwrap(), value, binding, note: String::new() };
        keeper.set(entry, Timestamp::from_millis(0)).unwrap();
        keeper
    }

    fn purse(directory: &std::path::Path) -> (Purse<ScriptedSandboxes>, Arc<Scripted>) {
        let meter = Arc::new(Scripted::default());
        let sandboxes = ScriptedSandboxes::new(Ledger::open(directory.join("world")).unwrap());
        let patience = Duration::from_millis(50);
        (Purse { keeper: keeper(directory), meter: meter.clone(), sandboxes, patience }, meter)
    }

    fn spec(task: TaskId, id: SandboxId) -> Spec {
        Spec {
            id,
            name: None,
            owner: Owner::Task(task),
            purpose: Use::Phase(Purpose::Research),
            image: "host".to_owned(),
            tier: Tier::Standard,
            compute: Compute::default(),
            sources: Vec::new(),
            hooks: Hooks::default(),
            workspace: WorkspaceAccess::ReadOnly,
            conditions: None,
            network: None,
        }
    }

    #[tokio::test]
    async fn it_keeps_the_promises_of_a_secret_source() {
        let directory = tempfile::tempdir().unwrap();
        let (purse, _) = purse(directory.path());
        let (known, unknown) = ("KNOWN".parse().unwrap(), "UNKNOWN".parse().unwrap());
        let kept = promises::secret::kept(&purse, &known, "a-value-nobody-may-see", &unknown);
        kept.await.unwrap();
    }

    #[tokio::test]
    async fn what_is_still_answered_is_not_withdrawn_yet() {
        let directory = tempfile::tempdir().unwrap();
        let (purse, meter) = purse(directory.path());
        let (task, sandbox) = (TaskId::from_u128(1), SandboxId::from_u128(2));
        let key = |seq| Key { task, seq, part: "credentials", number: 0 };
        purse.sandboxes.open(&spec(task, sandbox)).await.unwrap();
        purse.grant(key(1), sandbox).await.unwrap();
        meter.0.store(1, Ordering::Relaxed);
        purse.revoke(key(1)).await.expect("it is granted by this very step, and goes on");
        let refused = purse.revoke(key(2)).await.unwrap_err();
        assert!(matches!(refused, SecretError::Busy { .. }), "{refused}");
        assert_eq!(purse.keeper.granted(task, sandbox).await, Err(SecretError::Revoked));
        meter.0.store(0, Ordering::Relaxed);
        purse.revoke(key(2)).await.unwrap();
    }
}
