//! The promises of a secret source.

use domain::id::SandboxId;

use super::{Kept, TASK, keep, succeed};
use crate::secret::{SecretError, SecretName, SecretSource};

/// Plays with `known`, whose value is `value`, and with `unknown`.
pub async fn kept(
    secrets: &impl SecretSource,
    known: &SecretName,
    value: &str,
    unknown: &SecretName,
) -> Kept {
    let sandbox = SandboxId::from_u128(1);
    let early = secrets.value(known, TASK, sandbox).await;
    keep("nothing is handed out without a grant", early == Err(SecretError::Revoked))?;
    succeed("a sandbox is granted", secrets.grant(TASK, sandbox).await)?;
    let found = succeed("a secret is found", secrets.value(known, TASK, sandbox).await)?;
    keep("it has its value", found.expose() == value)?;
    keep("it does not print", !format!("{found:?}").contains(value))?;
    let missing = secrets.value(unknown, TASK, sandbox).await;
    keep("an unknown secret is refused by name", matches!(missing, Err(SecretError::Unknown(_))))?;
    succeed("a task is revoked", secrets.revoke(TASK).await)?;
    succeed("revoking again changes nothing", secrets.revoke(TASK).await)?;
    let late = secrets.value(known, TASK, sandbox).await;
    keep("nothing is handed out after that", late == Err(SecretError::Revoked))?;
    let fresh = SandboxId::from_u128(2);
    succeed("a task that goes on is granted again", secrets.grant(TASK, fresh).await)?;
    let again = succeed("it finds its secret", secrets.value(known, TASK, fresh).await)?;
    keep("it has its value again", again.expose() == value)
}
