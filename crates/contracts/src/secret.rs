//! Secrets by name. A value leaves its source for one use, and never enters a sandbox.

pub mod binding;
mod kept;

use std::{fmt, future::Future};

use domain::id::{SandboxId, TaskId};
use zeroize::Zeroize as _;

pub use kept::{Broken, Description, Entry, ExposeError, OldKey, Turned};

use crate::Key;

/// Who grants and who revokes is a step of a task, named by its key. Steps are in the order of their
/// `seq`, and an engine that was cut off may come late with one that was long done by another. So a
/// step has no say about a later one: it takes nothing from it, and grants nothing once it has revoked.
pub trait SecretSource: Send + Sync + 'static {
    /// From now on values may be handed out for `sandbox`, until a later step of the task revokes. When one
    /// already has, this is refused with [`SecretError::Revoked`], and changes nothing.
    fn grant(
        &self,
        key: Key,
        sandbox: SandboxId,
    ) -> impl Future<Output = Result<(), SecretError>> + Send;

    /// The value of `name`, for one request of `sandbox`, which must have been granted.
    fn value(
        &self,
        name: &SecretName,
        task: TaskId,
        sandbox: SandboxId,
    ) -> impl Future<Output = Result<SecretValue, SecretError>> + Send;

    /// Withdraws for good what earlier steps of the task granted: nothing more is handed out for it, and
    /// what was minted for it is void.
    ///
    /// When this has returned, nothing is spent any more by what was withdrawn, and
    /// [`Agents::bill`](crate::agent::Agents::bill) has all that was. While a request that has to be paid for is still under way
    /// and cannot be ended, the answer is [`SecretError::Busy`].
    fn revoke(&self, key: Key) -> impl Future<Output = Result<(), SecretError>> + Send;
}

/// `AWS_ACCESS_KEY_ID`, `github`: letters, digits and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a secret's name: 1 to 128 letters, digits or `_`, not beginning with a digit"
)]
pub struct SecretNameError(pub String);

impl std::str::FromStr for SecretName {
    type Err = SecretNameError;

    fn from_str(name: &str) -> Result<Self, SecretNameError> {
        let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if letters && starts_well && name.len() <= 128 {
            return Ok(Self(name.to_owned()));
        }
        Err(SecretNameError(name.to_owned()))
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value that does not print, and is overwritten when it is not needed any more.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(String);

impl SecretValue {
    pub const fn new(value: String) -> Self {
        Self(value)
    }

    /// The value itself. Whoever calls this is trusted not to keep it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for SecretValue {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("there is no secret `{0}`; set it with `lamp secret set {0} --host HOST`")]
    Unknown(SecretName),
    #[error(
        "nothing is handed out for this sandbox: it was not granted, or its grant was withdrawn"
    )]
    Revoked,
    #[error(
        "the secret `{0}` is for agents that it names, and this run is of none of them; say of which it is with `--agent`"
    )]
    ForAgents(SecretName),
    #[error("the secret source cannot be reached now: {reason}")]
    Busy { reason: String },
}
