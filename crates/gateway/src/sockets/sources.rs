//! Repositories that a caller wants inside, as the sandbox room knows them.

use contracts::sandbox::{Checkout, SandboxError};
use domain::code::RepositoryName;
use futures::future::BoxFuture;

/// Knows, or gets to know, repositories by their addresses.
pub trait Sources: Send + Sync + 'static {
    /// Makes sure that each can be brought in, and says at which commit.
    fn resolve<'a>(
        &'a self,
        wanted: &'a [Source],
    ) -> BoxFuture<'a, Result<Vec<Checkout>, SandboxError>>;
}

/// One that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub name: RepositoryName,
    pub url: String,
    /// A branch, a tag or a commit; the default branch where it is left out.
    pub revision: Option<String>,
}
