//! A secret source with one secret, whose grants are files.
//!
//! A grant is named after the step that gave it. A step that revokes first raises a fence, which later
//! grants of earlier steps find, and then removes theirs. What is spent is another name of the grant's
//! file, so that whoever stands still in the middle of it, and comes back when the grant is gone, spends
//! nothing.

use contracts::{
    Key,
    secret::{SecretError, SecretName, SecretSource, SecretValue},
};
use domain::id::{SandboxId, TaskId};

use crate::{
    ids::SystemIds,
    ledger::{Ledger, Right},
};
use contracts::ids::IdSource as _;

/// The secret that every scripted world has.
const NAME: &str = "SCRIPTED";
const VALUE: &str = "lamplight-in-the-fog";

#[derive(Debug, Clone)]
pub struct ScriptedSecrets {
    ledger: Ledger,
}

impl ScriptedSecrets {
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }

    /// Whether a later step of the task has revoked.
    fn is_fenced(&self, key: Key) -> std::io::Result<bool> {
        let fences = self.ledger.names(&fences(key.task))?;
        Ok(fences.iter().any(|fence| is_before(&step(key), fence)))
    }

    fn remove_before(&self, key: Key, kind: &str) -> std::io::Result<()> {
        for name in self.ledger.names(kind)? {
            if is_before(&name, &step(key)) {
                self.ledger.remove(kind, &name)?;
            }
        }
        Ok(())
    }
}

/// Pays for one run, if its sandbox has a grant.
pub(super) fn spend(ledger: &Ledger, key: Key, sandbox: SandboxId) -> std::io::Result<Right> {
    let (grants, meter) = (grants(key.task), format!("charge-{}", key.task));
    for grant in of_sandbox(ledger, key.task, sandbox)? {
        if ledger.once_by((&grants, &grant), &meter, &key.to_string())? == Right::Stands {
            return Ok(Right::Stands);
        }
    }
    Ok(Right::Gone)
}

fn of_sandbox(ledger: &Ledger, task: TaskId, sandbox: SandboxId) -> std::io::Result<Vec<String>> {
    let mut names = ledger.names(&grants(task))?;
    names.retain(|name| name.ends_with(&format!("|{sandbox}")));
    Ok(names)
}

/// Names of steps begin with their numbers, and sort as these do.
fn step(key: Key) -> String {
    format!("{:012}", key.seq)
}

fn is_before(name: &str, step: &str) -> bool {
    name.get(..step.len()).is_some_and(|number| number < step)
}

fn grants(task: TaskId) -> String {
    format!("grant-{task}")
}

fn fences(task: TaskId) -> String {
    format!("fence-{task}")
}

/// Grants that are not yet given.
fn offers(task: TaskId) -> String {
    format!("offer-{task}")
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> SecretError {
    SecretError::Busy { reason: error.to_string() }
}

impl SecretSource for ScriptedSecrets {
    async fn grant(&self, key: Key, sandbox: SandboxId) -> Result<(), SecretError> {
        let (offers, grants) = (offers(key.task), grants(key.task));
        let name = format!("{}|{sandbox}", step(key));
        // Offered first, then looked for a fence: one that is raised later takes the offer away.
        let offer = format!("{name}|{}", SystemIds.next());
        self.ledger.set(&offers, &offer, "").map_err(busy)?;
        if self.is_fenced(key).map_err(busy)? {
            self.ledger.remove(&offers, &offer).map_err(busy)?;
            return Err(SecretError::Revoked);
        }
        match self.ledger.rename((&offers, &offer), (&grants, &name)).map_err(busy)? {
            Right::Stands => Ok(()),
            Right::Gone => Err(SecretError::Revoked),
        }
    }

    async fn value(
        &self,
        name: &SecretName,
        task: TaskId,
        sandbox: SandboxId,
    ) -> Result<SecretValue, SecretError> {
        if of_sandbox(&self.ledger, task, sandbox).map_err(busy)?.is_empty() {
            return Err(SecretError::Revoked);
        }
        if name.to_string() == NAME {
            return Ok(SecretValue::new(VALUE.to_owned()));
        }
        Err(SecretError::Unknown(name.clone()))
    }

    async fn revoke(&self, key: Key) -> Result<(), SecretError> {
        self.ledger.once(&fences(key.task), &step(key), "").map_err(busy)?;
        // Offers before grants: an offer that is not found here any more has become a grant.
        self.remove_before(key, &offers(key.task)).map_err(busy)?;
        self.remove_before(key, &grants(key.task)).map_err(busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn scripted_secrets_keep_their_promises() {
        let directory = tempfile::tempdir().unwrap();
        let secrets = ScriptedSecrets::new(Ledger::open(directory.path()).unwrap());
        let (known, unknown) = (NAME.parse().unwrap(), "OTHER".parse().unwrap());
        contracts::promises::secret::kept(&secrets, &known, VALUE, &unknown).await.unwrap();
    }
}
