//! The promises of a secret source.

use domain::id::SandboxId;

use super::{Kept, TASK, keep, key, succeed};
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
    succeed("a sandbox is granted", secrets.grant(key(1), sandbox).await)?;
    succeed("granting again changes nothing", secrets.grant(key(1), sandbox).await)?;
    let found = succeed("a secret is found", secrets.value(known, TASK, sandbox).await)?;
    keep("it has its value", found.expose() == value)?;
    keep("it does not print", !format!("{found:?}").contains(value))?;
    let missing = secrets.value(unknown, TASK, sandbox).await;
    keep("an unknown secret is refused by name", matches!(missing, Err(SecretError::Unknown(_))))?;
    succeed("a step revokes", secrets.revoke(key(1)).await)?;
    succeed("it leaves what it granted itself", secrets.value(known, TASK, sandbox).await)?;
    succeed("a later step revokes", secrets.revoke(key(3)).await)?;
    succeed("revoking again changes nothing", secrets.revoke(key(3)).await)?;
    let late = secrets.value(known, TASK, sandbox).await;
    keep("nothing is handed out after that", late == Err(SecretError::Revoked))?;
    let fresh = SandboxId::from_u128(2);
    for sandbox in [sandbox, fresh] {
        let granted = secrets.grant(key(2), sandbox).await;
        keep(
            "an earlier step that comes late grants nothing",
            granted == Err(SecretError::Revoked),
        )?;
        let handed_out = secrets.value(known, TASK, sandbox).await;
        keep("it gets nothing either", handed_out == Err(SecretError::Revoked))?;
    }
    succeed("a task that goes on is granted again", secrets.grant(key(4), fresh).await)?;
    succeed("an earlier step may come late to revoke", secrets.revoke(key(3)).await)?;
    let again = succeed("it takes nothing away", secrets.value(known, TASK, fresh).await)?;
    keep("it has its value again", again.expose() == value)
}
