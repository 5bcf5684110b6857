//! The promises of a sandbox provider. Each runs them all, with an image that has a shell.

use std::{collections::BTreeMap, time::Duration};

use domain::{agent::Tier, cost::Cost, id::SandboxId, task::Purpose};
use tokio::sync::mpsc;

use super::{Broken, Kept, TASK, keep, key, succeed};
use crate::sandbox::{
    Compute, Ended, Exec, Finished, Output, SandboxError, Sandboxes, Spec, State, Streams,
};

/// Plays with sandboxes named from `first` on, made of `image`.
pub async fn kept(sandboxes: &impl Sandboxes, first: SandboxId, image: &str) -> Kept {
    opens_once_and_is_listed(sandboxes, first, image).await?;
    runs_commands_and_tells_how_they_ended(sandboxes, first).await?;
    rests_and_wakes(sandboxes, first, image).await?;
    is_destroyed_for_good(sandboxes, first, image).await?;
    refuses_what_it_does_not_know(sandboxes, SandboxId::from_u128(first.as_u128() + 1)).await
}

fn spec(id: SandboxId, image: &str) -> Spec {
    Spec {
        id,
        owner: TASK,
        purpose: Purpose::Research,
        image: image.to_owned(),
        tier: Tier::Standard,
        compute: Compute::default(),
        sources: Vec::new(),
        conditions: None,
    }
}

async fn state(sandboxes: &impl Sandboxes, id: SandboxId) -> Result<Vec<State>, Broken> {
    let listed = succeed("sandboxes can be listed", sandboxes.list().await)?;
    Ok(listed.into_iter().filter(|it| it.id == id).map(|it| it.state).collect())
}

async fn opens_once_and_is_listed(sandboxes: &impl Sandboxes, id: SandboxId, image: &str) -> Kept {
    succeed("a sandbox opens", sandboxes.open(&spec(id, image)).await)?;
    succeed("opening it again changes nothing", sandboxes.open(&spec(id, image)).await)?;
    keep("an open sandbox is listed once", state(sandboxes, id).await? == [State::Open])
}

async fn run(
    sandboxes: &impl Sandboxes,
    id: SandboxId,
    seq: u64,
    script: &str,
) -> Result<(Finished, Vec<u8>), SandboxError> {
    let command = Exec {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        environment: BTreeMap::new(),
        directory: "/".to_owned(),
        limit: Duration::from_secs(10),
        output_limit: 1 << 20,
    };
    let (_keep_open, input) = mpsc::channel(1);
    let (output, mut lines) = mpsc::channel(16);
    let reading = async {
        let mut all = Vec::new();
        while let Some(chunk) = lines.recv().await {
            match chunk {
                Output::Out(bytes) => all.extend(bytes),
                Output::Error(_) => {}
            }
        }
        all
    };
    let running = sandboxes.exec(id, key(seq), &command, Streams { input, output });
    let (finished, said) = tokio::join!(running, reading);
    Ok((finished?, said))
}

async fn runs_commands_and_tells_how_they_ended(sandboxes: &impl Sandboxes, id: SandboxId) -> Kept {
    let (finished, said) = succeed("a command runs", run(sandboxes, id, 1, "echo hello").await)?;
    keep("its exit code is told", finished.ending == Ended::Exited(0))?;
    keep("its output arrives", said == b"hello\n")?;
    let (finished, _) = succeed("a failing command runs", run(sandboxes, id, 2, "exit 3").await)?;
    keep("a failing exit code is told", finished.ending == Ended::Exited(3))?;
    let (again, _) = succeed("a repeated key answers", run(sandboxes, id, 2, "exit 3").await)?;
    keep("a repeated key gets the first answer", again.ending == finished.ending)
}

async fn rests_and_wakes(sandboxes: &impl Sandboxes, id: SandboxId, image: &str) -> Kept {
    succeed("a sandbox rests", sandboxes.rest(id).await)?;
    succeed("resting again changes nothing", sandboxes.rest(id).await)?;
    keep("a resting sandbox is listed as such", state(sandboxes, id).await? == [State::Resting])?;
    succeed("a resting sandbox wakes", sandboxes.open(&spec(id, image)).await)?;
    keep("a woken sandbox is open", state(sandboxes, id).await? == [State::Open])
}

async fn is_destroyed_for_good(sandboxes: &impl Sandboxes, id: SandboxId, image: &str) -> Kept {
    let before = succeed("a task has a bill", sandboxes.bill(TASK).await)?;
    succeed("a sandbox is destroyed", sandboxes.destroy(id).await)?;
    let after = succeed("a bill outlives its sandboxes", sandboxes.bill(TASK).await)?;
    keep("a bill never decreases", before.since(after) == Cost::ZERO)?;
    succeed("destroying again changes nothing", sandboxes.destroy(id).await)?;
    keep("a destroyed sandbox is not listed", state(sandboxes, id).await?.is_empty())?;
    let reopened = sandboxes.open(&spec(id, image)).await;
    keep(
        "a destroyed sandbox does not come back",
        matches!(reopened, Err(SandboxError::Destroyed { .. })),
    )
}

async fn refuses_what_it_does_not_know(sandboxes: &impl Sandboxes, stranger: SandboxId) -> Kept {
    let answer = run(sandboxes, stranger, 9, "true").await;
    keep(
        "a command in a sandbox that does not exist is refused",
        matches!(answer, Err(SandboxError::NotFound { .. })),
    )?;
    succeed("destroying a stranger succeeds", sandboxes.destroy(stranger).await)?;
    let impossible = Spec { image: String::new(), ..spec(SandboxId::from_u128(1), "") };
    let opened = sandboxes.open(&impossible).await;
    keep("an unknown image is refused", matches!(opened, Err(SandboxError::Image { .. })))
}
