//! Frozen: nothing runs, nothing is lost.

use tokio::sync::mpsc;

use super::{
    super::{Broken, Kept, keep, succeed},
    stage::{Stage, shell},
};
use crate::sandbox::{Ended, Input, Output, SandboxError, Sandboxes, State, Streams};

/// Why this host cannot freeze, if it cannot: then it says so, and the sandbox goes on.
pub(super) async fn why_not(stage: &Stage<'_, impl Sandboxes>) -> Result<Option<String>, Broken> {
    let id = stage.open().await?;
    let answer = stage.sandboxes.freeze(id).await;
    let why_not = match answer {
        Err(SandboxError::Unsupported { reason }) => Some(reason),
        answer => {
            succeed("a sandbox is frozen", answer)?;
            None
        }
    };
    stage.destroy(id).await?;
    Ok(why_not)
}

pub(super) async fn a_frozen_sandbox_is_listed_as_such(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    succeed("a sandbox is frozen", stage.sandboxes.freeze(id).await)?;
    succeed("freezing again changes nothing", stage.sandboxes.freeze(id).await)?;
    keep("a frozen sandbox is listed as such", stage.state(id).await? == [State::Frozen])?;
    succeed("a frozen sandbox is thawed", stage.sandboxes.thaw(id).await)?;
    succeed("thawing again changes nothing", stage.sandboxes.thaw(id).await)?;
    keep("a thawed sandbox is open", stage.state(id).await? == [State::Open])?;
    succeed("a sandbox is frozen again", stage.sandboxes.freeze(id).await)?;
    let opened = stage.sandboxes.open(&stage.spec(id)).await;
    succeed("opening thaws a frozen sandbox", opened)?;
    keep("and it is open", stage.state(id).await? == [State::Open])?;
    succeed("a sandbox is frozen once more", stage.sandboxes.freeze(id).await)?;
    succeed("a frozen sandbox rests", stage.sandboxes.rest(id).await)?;
    keep("and is listed as such", stage.state(id).await? == [State::Resting])?;
    stage.destroy(id).await
}

pub(super) async fn a_command_thaws_what_is_frozen(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    succeed("a sandbox is frozen", stage.sandboxes.freeze(id).await)?;
    let said = stage.must(id, "echo awake").await?;
    keep("a command thaws a frozen sandbox", said.out == b"awake\n")?;
    keep("and it is open", stage.state(id).await? == [State::Open])?;
    succeed("a sandbox is frozen before its end", stage.sandboxes.freeze(id).await)?;
    stage.destroy(id).await
}

pub(super) async fn what_was_frozen_goes_on(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let (to_command, input) = mpsc::channel(4);
    let (output, mut from_command) = mpsc::channel(16);
    let name = stage.new_name();
    let command = shell("echo ready; read -r line; echo got $line");
    let running = stage.sandboxes.exec(id, &name, &command, Streams { input, output });
    let freezing = async {
        let ready = from_command.recv().await;
        keep("a command runs", ready == Some(Output::Out(b"ready\n".to_vec())))?;
        succeed("a sandbox is frozen", stage.sandboxes.freeze(id).await)?;
        drop(to_command.send(Input::Bytes(b"word\n".to_vec())).await);
        succeed("a sandbox is thawed", stage.sandboxes.thaw(id).await)?;
        let heard = from_command.recv().await;
        keep("what was frozen goes on", heard == Some(Output::Out(b"got word\n".to_vec())))
    };
    let (finished, frozen) = tokio::join!(running, freezing);
    frozen?;
    let finished = succeed("a command runs through it", finished)?;
    keep("and ends as if nothing had been", finished.ending == Ended::Exited(0))?;
    stage.destroy(id).await
}
