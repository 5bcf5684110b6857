//! How commands end that do not end by themselves, with all that they started.

use std::time::Duration;

use tokio::sync::mpsc;

use super::{
    super::{Kept, keep, succeed},
    stage::{Stage, shell, wait_for_the_end_of_sleep},
};
use crate::sandbox::{Cut, Ended, Exec, Input, Output, Sandboxes, Streams};

/// Starts two that sleep, one of them in a session of its own where the image can do that, and says so.
fn sleepers(number: &str) -> String {
    format!(
        "sleep {number} & if command -v setsid >/dev/null; then setsid sleep {number} & fi; \
         echo ready; wait"
    )
}

pub(super) async fn signals_arrive(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let (to_command, input) = mpsc::channel(4);
    let (output, mut from_command) = mpsc::channel(16);
    let name = stage.new_name();
    let command =
        shell("trap 'echo caught; exit 7' USR1; echo ready; while :; do sleep 0.05; done");
    let running = stage.sandboxes.exec(id, &name, &command, Streams { input, output });
    let signalling = async {
        let mut heard = Vec::new();
        while let Some(chunk) = from_command.recv().await {
            match chunk {
                Output::Out(bytes) => heard.extend(bytes),
                // The whole group hears it, and a shell may tell of a child that the signal killed.
                Output::Error(_) => continue,
            }
            if heard == b"ready\n" {
                // A command that has ended hears nothing more.
                drop(to_command.send(Input::Signal(10)).await);
            }
        }
        heard
    };
    let (finished, heard) = tokio::join!(running, signalling);
    let finished = succeed("a command runs", finished)?;
    keep("a signal arrives", heard == b"ready\ncaught\n" && finished.ending == Ended::Exited(7))?;
    let said = stage.must(id, "kill -TERM $$").await?;
    keep("the signal that killed it is told", {
        said.finished.ending == Ended::Killed { signal: 15 }
    })?;
    stage.destroy(id).await
}

pub(super) async fn time_runs_out_for_all_that_it_started(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let id = stage.open().await?;
    let command = Exec { limit: Duration::from_millis(700), ..shell(&sleepers("31415")) };
    let said = succeed("a command runs", stage.exec(id, &stage.new_name(), &command, &[]).await)?;
    keep("time runs out", said.finished.ending == Ended::TimedOut)?;
    keep("what it said before arrives", said.out == b"ready\n")?;
    let left = stage.must(id, &wait_for_the_end_of_sleep("31415")).await?;
    keep("and nothing that it started is left", left.out == b"gone\n")?;
    stage.destroy(id).await
}

pub(super) async fn too_much_output_is_cut(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    let script = "i=0; while test $i -lt 2000; do echo 0123456789; i=$((i+1)); done; exit 4";
    let command = Exec { output_limit: 1000, ..shell(script) };
    let said = succeed("a command runs", stage.exec(id, &stage.new_name(), &command, &[]).await)?;
    keep("output beyond the limit is dropped", said.out.len() <= 1000 && !said.out.is_empty())?;
    keep("and it is said", said.finished.cut == Cut::Cut)?;
    keep("and the command goes on to its end", said.exited(4))?;
    let said = stage.must(id, "echo short").await?;
    keep("output within the limit is whole", said.finished.cut == Cut::Whole)?;
    stage.destroy(id).await
}

pub(super) async fn dropping_the_future_ends_the_command(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let id = stage.open().await?;
    let (_keep_open, input) = mpsc::channel(4);
    let (output, mut from_command) = mpsc::channel(16);
    let (name, command) = (stage.new_name(), shell(&sleepers("27182")));
    let started = tokio::select! {
        _ended = stage.sandboxes.exec(id, &name, &command, Streams { input, output }) => false,
        first = from_command.recv() => first == Some(Output::Out(b"ready\n".to_vec())),
    };
    keep("a long command runs", started)?;
    let left = stage.must(id, &wait_for_the_end_of_sleep("27182")).await?;
    keep("dropping the future ends it and all that it started", left.out == b"gone\n")?;
    stage.destroy(id).await
}
