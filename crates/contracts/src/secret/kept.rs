//! Secrets as people keep them: what is set, what is told of it, and why not.

use domain::time::Timestamp;

use super::{SecretError, SecretName, SecretValue, binding::Binding};

/// A secret to be kept.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: SecretName,
    pub value: SecretValue,
    pub binding: Binding,
    pub note: String,
}

/// What is known of a secret, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub name: SecretName,
    pub binding: Binding,
    /// What people said that it is for.
    pub note: String,
    /// Counts how often its value was set.
    pub version: u64,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// A secret that is there and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub name: SecretName,
    pub reason: String,
}

/// What turning over the master key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    /// How many secrets have the new key.
    pub secrets: usize,
    pub old_key: OldKey,
}

/// What became of the key before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldKey {
    Gone,
    /// Somebody else still needs it.
    Kept {
        reason: String,
    },
}

/// Why the value of a secret does not enter a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExposeError {
    #[error("a sandbox of the tier `untrusted` gets no value of a secret")]
    Untrusted,
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(
        "the secret `{0}` does not enter sandboxes; if a tool needs its value, set it with `lamp secret set {0} --expose env`"
    )]
    NotExposed(SecretName),
    #[error(
        "that the secret `{name}` enters a sandbox cannot be written down, so it does not: {reason}"
    )]
    NotWritten { name: SecretName, reason: String },
}
