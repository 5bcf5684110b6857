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

impl SecretSource for ScriptedSecrets {
    async fn value(
        &self,
        name: &SecretName,
        task: TaskId,
        _sandbox: SandboxId,
    ) -> Result<SecretValue, SecretError> {
        if self.ledger.read("revoked", &task.to_string()).is_some() {
            return Err(SecretError::Revoked);
        }
        if name.to_string() == NAME {
            return Ok(SecretValue::new(VALUE.to_owned()));
        }
        Err(SecretError::Unknown(name.clone()))
    }

    async fn revoke(&self, task: TaskId) -> Result<(), SecretError> {
        let done = self.ledger.once("revoked", &task.to_string(), "");
        done.map(|_| ()).map_err(|error| SecretError::Busy { reason: error.to_string() })
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
