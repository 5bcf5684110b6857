//! Repositories that a caller wants inside, as the sandbox room knows them.

use contracts::sandbox::{Checkout, SandboxError};
use futures::future::BoxFuture;
use wire::sandbox::Repository;

/// Knows, or gets to know, repositories by their addresses.
pub trait SourceResolver: Send + Sync + 'static {
    /// Makes sure that each can be brought in, and says at which commit.
    fn resolve<'a>(
        &'a self,
        wanted: &'a [Repository],
    ) -> BoxFuture<'a, Result<Vec<Checkout>, SandboxError>>;
}

/// For a server without repositories: refuses the first that is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSources;

impl SourceResolver for NoSources {
    fn resolve<'a>(
        &'a self,
        wanted: &'a [Repository],
    ) -> BoxFuture<'a, Result<Vec<Checkout>, SandboxError>> {
        let refused = wanted.first().map(|first| SandboxError::Source {
            repository: first.name.clone(),
            reason: "this server cannot bring in repositories yet".to_owned(),
        });
        Box::pin(async { refused.map_or_else(|| Ok(Vec::new()), Err) })
    }
}
