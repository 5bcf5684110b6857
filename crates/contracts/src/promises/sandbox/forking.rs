//! A fork: the same disk, twice.

use super::{
    super::{Kept, keep, succeed},
    stage::Stage,
};
use crate::sandbox::{SandboxError, Sandboxes, State};

pub(super) async fn a_fork_has_the_disk_and_the_original_goes_on(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let original = stage.open().await?;
    let disk = stage.disk(original).await?;
    let script = format!("echo first > {disk}/note");
    keep("a file is made", stage.must(original, &script).await?.exited(0))?;
    let copy = stage.new_id();
    let forked = stage.sandboxes.fork(original, &stage.spec(copy)).await;
    succeed("a sandbox is forked", forked)?;
    let again = stage.sandboxes.fork(original, &stage.spec(copy)).await;
    succeed("forking again changes nothing", again)?;
    keep("the fork is open", stage.state(copy).await? == [State::Open])?;
    keep("the original is open", stage.state(original).await? == [State::Open])?;

    let read = format!("cat {disk}/note");
    keep("the fork has the disk", stage.must(copy, &read).await?.out == b"first\n")?;
    let script = format!("echo second > {disk}/note");
    keep("the fork is changed", stage.must(copy, &script).await?.exited(0))?;
    keep("and the original is not", stage.must(original, &read).await?.out == b"first\n")?;
    let script = format!("echo third > {disk}/note");
    keep("the original is changed", stage.must(original, &script).await?.exited(0))?;
    keep("and the fork is not", stage.must(copy, &read).await?.out == b"second\n")?;

    stage.destroy(original).await?;
    keep("a fork outlives its original", stage.must(copy, &read).await?.out == b"second\n")?;
    stage.destroy(copy).await?;
    let answer = stage.sandboxes.fork(original, &stage.spec(stage.new_id())).await;
    keep(
        "one that is gone is not forked",
        matches!(answer, Err(SandboxError::NotFound { .. } | SandboxError::Destroyed { .. })),
    )
}
