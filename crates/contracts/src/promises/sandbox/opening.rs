//! Opening: once, by one name, as it was asked for.

use super::{
    super::{Kept, keep, succeed},
    stage::{Stage, sandbox_name},
};
use crate::sandbox::{SandboxError, Sandboxes, Spec, State};

pub(super) async fn opens_once_and_is_listed(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let again = stage.sandboxes.open(&stage.spec(id)).await;
    succeed("opening it again changes nothing", again)?;
    keep("an open sandbox is listed once", stage.state(id).await? == [State::Open])?;
    stage.destroy(id).await
}

pub(super) async fn a_name_belongs_to_one(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let name = sandbox_name("the-promise")?;
    let named = Spec { name: Some(name.clone()), ..stage.spec(stage.new_id()) };
    succeed("a sandbox may have a name", stage.sandboxes.open(&named).await)?;
    let again = stage.sandboxes.open(&named).await;
    succeed("opening it again under its name changes nothing", again)?;
    let second = Spec { id: stage.new_id(), ..named.clone() };
    let refused = stage.sandboxes.open(&second).await;
    keep(
        "a taken name is refused, and its owner is named",
        matches!(refused, Err(SandboxError::NameTaken { id, .. }) if id == named.id),
    )?;
    keep("what was refused is not there", stage.state(second.id).await?.is_empty())?;
    stage.destroy(named.id).await?;
    let third = Spec { id: stage.new_id(), ..named };
    succeed("the name of one that is gone is free", stage.sandboxes.open(&third).await)?;
    stage.destroy(third.id).await
}

pub(super) async fn an_open_sandbox_is_what_was_asked_for(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let name = sandbox_name("as-asked-for")?;
    let spec = Spec { name: Some(name), ..stage.spec(stage.new_id()) };
    succeed("a sandbox opens", stage.sandboxes.open(&spec).await)?;
    let listed = succeed("sandboxes can be listed", stage.sandboxes.list().await)?;
    let right = listed.iter().any(|it| {
        it.id == spec.id
            && it.name == spec.name
            && it.owner == spec.owner
            && it.purpose == spec.purpose
            && it.tier == spec.tier
            && it.image == spec.image
            && it.compute == spec.compute
    });
    keep("it is listed as it was asked for", right)?;
    stage.destroy(spec.id).await
}
