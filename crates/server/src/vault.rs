//! The secrets of this server: where their master key comes from, and the door to them.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use contracts::{
    clock::{Clock as _, SystemClock},
    secret::{SecretName, SecretValue},
};
use egress::broker::Broker;
use futures::future::BoxFuture;
use gateway::SecretShelf;
use provision::OWNER;
use secrets::{
    binding::{Binding, Exposure, Header, Place},
    keeper::{DeleteError, Description, Entry, Keeper, Master, OldKey, SetError, TurnError},
    randomness::SystemRandomness,
};
use serde_json::Value;
use store::{AuditEntry, Store};
use terminal::{environment::Environment, report::Hint};
use wire::{
    error::{Code, Problem},
    secret::{self as shape, RotatedKey, Secret, Secrets, SetSecret},
};

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
    ) -> Result<(), Problem> {
        let entry = AuditEntry {
            at: SystemClock.now(),
            actor: OWNER.to_owned(),
            action: action.to_owned(),
            subject,
            detail: detail.to_string(),
        };
        self.store.audit(entry).await.map_err(|error| {
            Problem::new(
                Code::Internal,
                format!("it is done, but is not in the audit log: {error}"),
            )
        })
    }

    /// Does what waits for the disk where nobody else waits for it.
    fn aside<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Keeper) -> Result<T, Problem> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, Problem>> {
        let keeper = self.keeper.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || what(&keeper)).await;
            done.unwrap_or_else(|error| Err(Problem::new(Code::Internal, error.to_string())))
        })
    }
}

impl SecretShelf for Shelf {
    fn set(&self, name: SecretName, wish: SetSecret) -> BoxFuture<'_, Result<Secret, Problem>> {
        let setting = self.aside(move |keeper| {
            let entry = entry(name.clone(), wish)?;
            keeper.set(entry, SystemClock.now()).map_err(|error| not_set(&error))?;
            let described = keeper.describe(&name).map(described);
            described.ok_or_else(|| Problem::new(Code::Internal, "it was deleted meanwhile"))
        });
        Box::pin(async move {
            let secret = setting.await?;
            let detail = serde_json::json!({
                "version": secret.version,
                "hosts": secret.hosts,
                "agents": secret.agents,
                "expose": secret.expose,
            });
            self.write_down("secret.set", secret.name.clone(), detail).await?;
            Ok(secret)
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Secrets, Problem>> {
        self.aside(|keeper| {
            let broken = keeper.broken().into_iter();
            let broken = broken
                .map(|it| shape::BrokenSecret { name: it.name.to_string(), reason: it.reason });
            let secrets = keeper.list().into_iter().map(described).collect();
            Ok(Secrets { secrets, broken: broken.collect() })
        })
    }

    fn delete(&self, name: SecretName) -> BoxFuture<'_, Result<(), Problem>> {
        let subject = name.to_string();
        let deleting = self.aside(move |keeper| {
            keeper.delete(&name).map_err(|error| match error {
                DeleteError::Unknown(_) => Problem::new(Code::NotFound, error.to_string())
                    .with_help("`lamp secret list` shows those that exist"),
                DeleteError::Io(source) => {
                    Problem::new(Code::Internal, format!("the secret cannot be deleted: {source}"))
                }
            })
        });
        Box::pin(async move {
            deleting.await?;
            self.write_down("secret.deleted", subject, serde_json::json!({})).await
        })
    }

    fn rotate_key(&self) -> BoxFuture<'_, Result<RotatedKey, Problem>> {
        let broker = Some(Arc::clone(&self.broker));
        let authorities = Authorities { directory: self.egress.clone(), broker };
        let turning = self.aside(move |keeper| {
            let turned = keeper.turn_over(&[&authorities]).map_err(|error| match error {
                TurnError::Given => Problem::new(Code::Unsupported, error.to_string()),
                TurnError::Broken(_) => Problem::new(Code::Limit, error.to_string()),
                TurnError::Unfinished { .. } => Problem::new(Code::Busy, error.to_string()),
                TurnError::Key(_) | TurnError::Seal { .. } | TurnError::Io { .. } => {
                    Problem::new(Code::Internal, format!("{:#}", anyhow::Error::from(error)))
                        .with_help("nothing is lost; correct the cause and run it again")
                }
            })?;
            let old_key_kept = match turned.old_key {
                OldKey::Gone => None,
                OldKey::Kept { reason } => Some(reason),
            };
            Ok(RotatedKey { secrets: turned.secrets, old_key_kept })
        });
        Box::pin(async move {
            let turned = turning.await?;
            let detail = serde_json::json!({ "secrets": turned.secrets });
            self.write_down("secret.key_turned", "the master key".to_owned(), detail).await?;
            Ok(turned)
        })
    }
}

fn not_set(error: &SetError) -> Problem {
    let code = match error {
        SetError::Seal(_) | SetError::Io(_) => Code::Internal,
        SetError::TooLong(_) => Code::TooLarge,
        SetError::Binding(_)
        | SetError::TooShort(_)
        | SetError::Zero
        | SetError::NotForRequests
        | SetError::Placeholder
        | SetError::Note => Code::Limit,
    };
    Problem::new(code, error.to_string())
}

fn entry(name: SecretName, wish: SetSecret) -> Result<Entry, Problem> {
    let SetSecret { value, hosts, places, agents, expose, note } = wish;
    let value = SecretValue::new(value);
    let is_swapped = !hosts.is_empty();
    let mut places: Vec<Place> = places.into_iter().map(place).collect::<Result<_, _>>()?;
    if places.is_empty() && is_swapped {
        places = vec![Place::Header("authorization".parse().map_err(wrong)?), Place::Basic];
    }
    let exposure = match expose {
        None => Exposure::Never,
        Some(shape::Expose::Env) => Exposure::Environment,
    };
    let hosts = hosts.iter().map(|host| host.parse().map_err(wrong)).collect::<Result<_, _>>()?;
    let agents =
        agents.iter().map(|agent| agent.parse().map_err(wrong)).collect::<Result<_, _>>()?;
    Ok(Entry { name, value, binding: Binding { hosts, places, agents, exposure }, note })
}

fn place(place: shape::Place) -> Result<Place, Problem> {
    Ok(match place {
        shape::Place::Header { name, prefix } => {
            Place::Header(Header::new(&name, &prefix).map_err(wrong)?)
        }
        shape::Place::Basic => Place::Basic,
        shape::Place::Query { name } => Place::Query(name.parse().map_err(wrong)?),
    })
}

fn wrong(error: impl std::error::Error) -> Problem {
    Problem::new(Code::BadRequest, error.to_string())
}

fn described(description: Description) -> Secret {
    let Description { name, binding, note, version, created, updated } = description;
    let place = |place: Place| match place {
        Place::Header(header) => shape::Place::Header {
            name: header.name().to_owned(),
            prefix: header.prefix().to_owned(),
        },
        Place::Basic => shape::Place::Basic,
        Place::Query(name) => shape::Place::Query { name: name.as_str().to_owned() },
    };
    Secret {
        name: name.to_string(),
        hosts: binding.hosts.iter().map(ToString::to_string).collect(),
        places: binding.places.into_iter().map(place).collect(),
        agents: binding.agents.iter().map(|agent| agent.as_str().to_owned()).collect(),
        expose: match binding.exposure {
            Exposure::Never => None,
            Exposure::Environment => Some(shape::Expose::Env),
        },
        note,
        version,
        created_at_millis: created.as_millis(),
        updated_at_millis: updated.as_millis(),
    }
}
