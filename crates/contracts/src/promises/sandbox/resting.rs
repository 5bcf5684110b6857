//! At rest: everything is stopped, and the disk is kept.

use super::{
    super::{Kept, keep, succeed},
    stage::{Stage, wait_for_the_end_of_sleep},
};
use crate::sandbox::{Sandboxes, State};

pub(super) async fn rests_and_wakes(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    succeed("a sandbox rests", stage.sandboxes.rest(id).await)?;
    succeed("resting again changes nothing", stage.sandboxes.rest(id).await)?;
    keep("a resting sandbox is listed as such", stage.state(id).await? == [State::Resting])?;
    succeed("a resting sandbox wakes", stage.sandboxes.open(&stage.spec(id)).await)?;
    keep("a woken sandbox is open", stage.state(id).await? == [State::Open])?;
    stage.destroy(id).await
}

pub(super) async fn the_disk_outlives_a_rest(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let disk = stage.disk(id).await?;
    let script = format!("echo kept > {disk}/note; sleep 16180 >/dev/null 2>&1 &");
    keep("a file is made", stage.must(id, &script).await?.exited(0))?;
    succeed("a sandbox rests", stage.sandboxes.rest(id).await)?;
    succeed("a resting sandbox wakes", stage.sandboxes.open(&stage.spec(id)).await)?;
    let said = stage.must(id, &format!("cat {disk}/note")).await?;
    keep("the disk outlives a rest", said.out == b"kept\n")?;
    let left = stage.must(id, &wait_for_the_end_of_sleep("16180")).await?;
    keep("processes do not", left.out == b"gone\n")?;
    stage.destroy(id).await
}

pub(super) async fn a_command_wakes_what_sleeps(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    succeed("a sandbox rests", stage.sandboxes.rest(id).await)?;
    let said = stage.must(id, "echo awake").await?;
    keep("a command wakes a resting sandbox", said.out == b"awake\n")?;
    keep("and it is open", stage.state(id).await? == [State::Open])?;
    stage.destroy(id).await
}
