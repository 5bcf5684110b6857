//! The secrets of this server: where their master key comes from, and the door to them.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use contracts::{
    clock::{Clock as _, SystemClock},
    secret::{Description, Entry, SecretName, Turned, binding::Exposure},
};
use domain::agent::AgentName;
use egress::broker::Broker;
use futures::future::BoxFuture;
use gateway::sockets::{Kept, SecretShelf, ShelfError};
use provision::OWNER;
use secrets::{
    keeper::{DeleteError, Keeper, Master, OldKey, SetError, TurnError},
    randomness::SystemRandomness,
};
use serde_json::Value;
use store::{AuditEntry, Store};
use terminal::{environment::Environment, report::Hint};

use crate::authorities::Authorities;

/// The file that holds the master key, unless the operator gives one.
const KEY_FILE: &str = "master.key";

/// Opens the secrets in the data directory.
pub(crate) fn open(data: &Path, environment: &Environment) -> anyhow::Result<Keeper> {
    let master = match (&environment.master_key, &environment.master_key_command) {
        (Some(_), Some(_)) => {
            return Err(anyhow!(Hint::new(
                "`LAMP_MASTER_KEY` and `LAMP_MASTER_KEY_COMMAND` are both set",
                "set one of them",
            )));
        }
        (Some(text), None) => given(text, "LAMP_MASTER_KEY")?,
        (None, Some(command)) => given(&told_by(command)?, "LAMP_MASTER_KEY_COMMAND")?,
        (None, None) => Master::File(data.join(KEY_FILE)),
    };
    let opened = Keeper::open(data.join("secrets"), master, SystemRandomness);
    opened.context("cannot open the secrets")
}

fn given(text: &str, by: &str) -> anyhow::Result<Master> {
    let keys = text.parse();
    let keys = keys.with_context(|| format!("`{by}` does not give a master key"))?;
    Ok(Master::Given(keys))
}

/// What a command of the operator prints, by the shell.
fn told_by(command: &str) -> anyhow::Result<String> {
    let what = || Hint::new("`LAMP_MASTER_KEY_COMMAND` fails", "run it by hand to see why");
    let ran = Command::new("/bin/sh").arg("-c").arg(command).output().with_context(what)?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
        return Err(anyhow!("it ended with {}: {said}", ran.status).context(what()));
    }
    String::from_utf8(ran.stdout).with_context(what)
}

/// Ends what a server before this one left unfinished, and says what is wrong. The broker must not run yet; what it keeps is in `egress`.
pub(crate) fn settle(keeper: &Keeper, egress: &Path) {
    for broken in keeper.broken() {
        tracing::warn!(secret = %broken.name, reason = broken.reason, "a secret cannot be used");
    }
    let authorities = Authorities { directory: egress.to_owned(), broker: None };
    match keeper.finish_turning(&[&authorities]).map(|turned| turned.old_key) {
        Ok(OldKey::Gone) => {}
        Ok(OldKey::Kept { reason }) => tracing::warn!(reason, "an old master key is kept"),
        Err(error) => tracing::warn!(%error, "an old master key is kept"),
    }
}

/// The secrets, as the door has them.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) keeper: Keeper,
    /// Where the broker keeps what the master key sealed.
    pub(crate) egress: PathBuf,
    pub(crate) broker: Arc<Broker>,
    pub(crate) store: Arc<Store>,
}

impl Shelf {
    /// Says in the audit log what was done to a secret.
    async fn write_down(
        &self,
        action: &str,
        subject: String,
        detail: Value,
    ) -> Result<(), ShelfError> {
        let entry = AuditEntry {
            at: SystemClock.now(),
            actor: OWNER.to_owned(),
            action: action.to_owned(),
            subject,
            detail: detail.to_string(),
        };
        self.store
            .audit(entry)
            .await
            .map_err(|error| broken(format!("it is done, but is not in the audit log: {error}")))
    }

    /// Does what waits for the disk where nobody else waits for it.
    fn aside<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Keeper) -> Result<T, ShelfError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, ShelfError>> {
        let keeper = self.keeper.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || what(&keeper)).await;
            done.unwrap_or_else(|error| Err(broken(error.to_string())))
        })
    }
}

impl SecretShelf for Shelf {
    fn set(&self, entry: Entry) -> BoxFuture<'_, Result<Description, ShelfError>> {
        let setting = self.aside(move |keeper| {
            let name = entry.name.clone();
            keeper.set(entry, SystemClock.now()).map_err(|error| not_set(&error))?;
            let described = keeper.describe(&name);
            described.ok_or_else(|| broken("it was deleted meanwhile".to_owned()))
        });
        Box::pin(async move {
            let secret = setting.await?;
            let binding = &secret.binding;
            let hosts: Vec<String> = binding.hosts.iter().map(ToString::to_string).collect();
            let agents: Vec<&str> = binding.agents.iter().map(AgentName::as_str).collect();
            let expose = match binding.exposure {
                Exposure::Never => None,
                Exposure::Environment => Some("env"),
            };
            let detail = serde_json::json!({
                "version": secret.version,
                "hosts": hosts,
                "agents": agents,
                "expose": expose,
            });
            self.write_down("secret.set", secret.name.to_string(), detail).await?;
            Ok(secret)
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Kept, ShelfError>> {
        self.aside(|keeper| Ok(Kept { secrets: keeper.list(), broken: keeper.broken() }))
    }

    fn delete(&self, name: SecretName) -> BoxFuture<'_, Result<(), ShelfError>> {
        let subject = name.to_string();
        let deleting = self.aside(move |keeper| {
            keeper.delete(&name).map_err(|error| match error {
                DeleteError::Unknown(name) => ShelfError::Unknown(name),
                DeleteError::Io(source) => {
                    broken(format!("the secret cannot be deleted: {source}"))
                }
            })
        });
        Box::pin(async move {
            deleting.await?;
            self.write_down("secret.deleted", subject, serde_json::json!({})).await
        })
    }

    fn rotate_key(&self) -> BoxFuture<'_, Result<Turned, ShelfError>> {
        let broker = Some(Arc::clone(&self.broker));
        let authorities = Authorities { directory: self.egress.clone(), broker };
        let turning = self.aside(move |keeper| {
            keeper.turn_over(&[&authorities]).map_err(|error| {
                let reason = error.to_string();
                match error {
                    TurnError::Given => ShelfError::KeyIsGiven { reason },
                    TurnError::Broken(_) => ShelfError::KeyIsNeeded { reason },
                    TurnError::Unfinished { .. } => ShelfError::Unfinished { reason },
                    TurnError::Key(_) | TurnError::Seal { .. } | TurnError::Io { .. } => {
                        let reason = format!("{:#}", anyhow::Error::from(error));
                        ShelfError::NotTurned { reason }
                    }
                }
            })
        });
        Box::pin(async move {
            let turned = turning.await?;
            let detail = serde_json::json!({ "secrets": turned.secrets });
            self.write_down("secret.key_turned", "the master key".to_owned(), detail).await?;
            Ok(turned)
        })
    }
}

const fn broken(reason: String) -> ShelfError {
    ShelfError::Broken { reason }
}

fn not_set(error: &SetError) -> ShelfError {
    let reason = error.to_string();
    match error {
        SetError::Seal(_) | SetError::Io(_) => ShelfError::Broken { reason },
        SetError::TooLong(_) => ShelfError::TooLong { reason },
        SetError::Binding(_)
        | SetError::TooShort(_)
        | SetError::Zero
        | SetError::NotForRequests
        | SetError::Placeholder
        | SetError::Note => ShelfError::Unfit { reason },
    }
}
