//! A secret source with one secret.

use contracts::secret::{SecretError, SecretName, SecretSource, SecretValue};
use domain::id::{SandboxId, TaskId};

use crate::ledger::Ledger;

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
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> SecretError {
    SecretError::Busy { reason: error.to_string() }
}

impl SecretSource for ScriptedSecrets {
    async fn grant(&self, task: TaskId, sandbox: SandboxId) -> Result<(), SecretError> {
        let kind = format!("grant-{task}");
        self.ledger.set(&kind, &sandbox.to_string(), "").map_err(busy)
    }

    async fn value(
        &self,
        name: &SecretName,
        task: TaskId,
        sandbox: SandboxId,
    ) -> Result<SecretValue, SecretError> {
        if self.ledger.read(&format!("grant-{task}"), &sandbox.to_string()).is_none() {
            return Err(SecretError::Revoked);
        }
        if name.to_string() == NAME {
            return Ok(SecretValue::new(VALUE.to_owned()));
        }
        Err(SecretError::Unknown(name.clone()))
    }

    async fn revoke(&self, task: TaskId) -> Result<(), SecretError> {
        let kind = format!("grant-{task}");
        for sandbox in self.ledger.names(&kind).map_err(busy)? {
            self.ledger.remove(&kind, &sandbox).map_err(busy)?;
        }
        Ok(())
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
