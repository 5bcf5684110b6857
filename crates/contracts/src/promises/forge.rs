//! The promises of a forge.

use domain::{
    code::{BranchName, RepositoryName},
    id::SandboxId,
};

use super::{Kept, keep, key, succeed};
use crate::forge::{Delivery, ForgeError, Forges};

/// Plays with `repository`, taking the change that is ready in `sandbox`.
pub async fn kept(
    forges: &impl Forges,
    repository: &RepositoryName,
    unknown: &RepositoryName,
    sandbox: SandboxId,
    branch: BranchName,
) -> Kept {
    let head = succeed("a repository has a head", forges.head(repository).await)?;
    let stranger = forges.head(unknown).await;
    keep("an unknown repository is refused", matches!(stranger, Err(ForgeError::NoRepository(_))))?;

    let change =
        succeed("a change is taken", forges.take_change(key(1), sandbox, repository).await)?;
    keep("a change is a new commit", change.commit != head)?;
    let again =
        succeed("it is taken again", forges.take_change(key(1), sandbox, repository).await)?;
    keep("a repeated key gives the same commit", again == change)?;

    let delivery = Delivery {
        repository: repository.clone(),
        branch,
        commit: change.commit,
        title: "a change".to_owned(),
        body: "why".to_owned(),
    };
    let first = succeed("a change is delivered", forges.deliver(key(2), &delivery).await)?;
    let again = succeed("it is delivered again", forges.deliver(key(2), &delivery).await)?;
    keep("a repeated key opens no second pull request", first == again)?;
    let update = succeed("an update is delivered", forges.deliver(key(3), &delivery).await)?;
    keep("a branch has one pull request", update.number == first.number)
}
