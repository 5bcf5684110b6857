//! Where secrets are kept. No call gives a value back.

use contracts::secret::{Broken, Description, Entry, SecretName, Turned};
use futures::future::BoxFuture;

/// Keeps secrets, and writes down what was done to each.
pub trait SecretShelf: Send + Sync + 'static {
    /// Sets a secret, or replaces it.
    fn set(&self, entry: Entry) -> BoxFuture<'_, Result<Description, ShelfError>>;
    fn list(&self) -> BoxFuture<'_, Result<Kept, ShelfError>>;
    fn delete(&self, name: SecretName) -> BoxFuture<'_, Result<(), ShelfError>>;
    /// Makes a new master key, and seals every secret with it.
    fn rotate_key(&self) -> BoxFuture<'_, Result<Turned, ShelfError>>;
}

/// All of them, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    pub secrets: Vec<Description>,
    pub broken: Vec<Broken>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShelfError {
    /// Its value, binding or note is nothing that can be kept.
    #[error("{reason}")]
    Unfit { reason: String },
    #[error("{reason}")]
    TooLong { reason: String },
    #[error("there is no secret `{0}`")]
    Unknown(SecretName),
    /// The operator gives the master key, and turns it over.
    #[error("{reason}")]
    KeyIsGiven { reason: String },
    /// Secrets that cannot be read may need the master key that there is.
    #[error("{reason}")]
    KeyIsNeeded { reason: String },
    /// The master key is being turned over already.
    #[error("{reason}")]
    Unfinished { reason: String },
    /// It was not turned over, and can be tried again.
    #[error("{reason}")]
    NotTurned { reason: String },
    #[error("{reason}")]
    Broken { reason: String },
}
