//! Values of secrets: taken out of what is passed on, and given to one process where that is wanted.

use std::{borrow::Cow, fmt};

use contracts::{
    sandbox::Listed,
    secret::{ExposeError, SecretName, SecretValue},
};
use domain::agent::AgentName;
use futures::future::BoxFuture;

/// Keeps values of secrets where they belong.
pub trait Values: Send + Sync + 'static {
    /// For the output of one command. `None` when there is no value to take out, so that nothing is done to it.
    fn stream(&self) -> Result<Option<Box<dyn Cleaned>>, NotCleaned>;

    /// A whole text, without values.
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str>;

    /// The variables that one process of `sandbox` gets. That it gets them is written down before.
    fn expose<'a>(
        &'a self,
        wish: &'a Exposing,
        sandbox: &'a Listed,
        program: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(SecretName, SecretValue)>, ExposeError>>;
}

/// Secrets that are to enter a sandbox, for one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposing {
    pub names: Vec<SecretName>,
    /// The agent that the process is of.
    pub agent: Option<AgentName>,
    /// Said by whoever means it in a sandbox of the tier `untrusted`.
    pub even_untrusted: bool,
}

/// Values cannot be taken out of anything now, so nothing is passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotCleaned {
    pub reason: String,
}

/// Takes values out of bytes that come in pieces.
pub trait Cleaned: Send {
    /// Takes a piece, and gives what is certain.
    fn feed(&mut self, piece: &[u8]) -> Vec<u8>;
    /// Whether something is held back that may be the beginning of a value.
    fn is_holding(&self) -> bool;
    /// Nothing has come for a while: gives a beginning that is too short to tell anything.
    fn release(&mut self) -> Vec<u8>;
    /// The rest.
    fn finish(&mut self) -> Vec<u8>;
}

impl fmt::Debug for dyn Cleaned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cleaned").field("is_holding", &self.is_holding()).finish()
    }
}
