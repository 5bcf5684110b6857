//! The platform runs the checks itself, on the exact commit, in a clean sandbox (FB1).
//!
//! What the agent claims does not count. A repeat runs them again, in another clean sandbox.

use std::{collections::BTreeMap, fmt::Write as _};

use contracts::{
    Key,
    sandbox::{CommandName, Cut, Ended, Exec, Output, Sandboxes as _, Streams, User},
};
use domain::{
    code::CommitId,
    failure::FailureKind,
    id::SandboxId,
    progress::Footprint,
    task::{Event, Purpose, Report, Work},
};
use tokio::sync::mpsc;

use super::{Done, Outcome, Scene, Trouble, side};
use crate::{Check, Hands};

/// The end of a check's output that is kept.
const KEPT: usize = 64 * 1024;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let Some(commit) = scene.task.stage.work().and_then(Work::commit) else {
        return Err(scene.failed(FailureKind::Internal, "there is no commit to verify"));
    };
    let sandbox = scene.side_sandbox("verify");
    side::open(scene, sandbox, Purpose::Verify, commit).await?;
    let judged = judge(scene, sandbox, commit).await;
    let (failing, log) = side::close(scene, sandbox, judged).await?;
    let evidence = scene.keep(&log)?;
    let report = if failing.is_empty() {
        Report::ChecksPassed { evidence }
    } else {
        Report::ChecksFailed { footprint: footprint(scene, &failing)?, evidence }
    };
    Ok(Done::Reports(vec![report]))
}

/// The names of the checks that failed, and the log of all.
type Judged = (Vec<String>, String);

async fn judge<H: Hands>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
    commit: &CommitId,
) -> Result<Judged, Trouble> {
    let (mut failing, mut log) = (Vec::new(), format!("commit {commit}\n"));
    for (number, check) in (0..).zip(&scene.engine.settings.checks) {
        let key = scene.numbered_key("check", number);
        let (ending, output) = run_check(scene, sandbox, key, check).await?;
        let verdict = match ending {
            Ended::Exited(0) => "passed",
            Ended::Exited(_) | Ended::Killed { .. } | Ended::TimedOut => {
                failing.push(check.name.clone());
                "failed"
            }
            Ended::OutOfMemory { peak_mib } => {
                let message = format!("the check `{}` used {peak_mib} MiB", check.name);
                return Err(scene.failed(FailureKind::Oom, message));
            }
        };
        // Writing to a string does not fail.
        let _written = writeln!(log, "== {}: {verdict} ({ending:?})\n{output}", check.name);
    }
    Ok((failing, log))
}

async fn run_check<H: Hands>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
    key: Key,
    check: &Check,
) -> Result<(Ended, String), Trouble> {
    let command = Exec {
        argv: ["/bin/sh", "-c", &check.command].map(str::to_owned).to_vec(),
        environment: BTreeMap::new(),
        path: Vec::new(),
        sweeps: false,
        directory: scene.checkout()?,
        user: User::Agent,
        terminal: None,
        limit: check.limit,
        output_limit: 8 << 20,
    };
    let (_no_input, input) = mpsc::channel(1);
    let (output, said) = mpsc::channel(16);
    let name = CommandName::from(key);
    let running =
        scene.hands().sandboxes().exec(sandbox, &name, &command, Streams { input, output });
    let (finished, text) = tokio::join!(running, tail(said));
    let finished = finished.map_err(|error| scene.sandbox_trouble(&error))?;
    let note = match finished.cut {
        Cut::Whole => "",
        Cut::Cut => "\n(output was cut)",
    };
    Ok((finished.ending, format!("{text}{note}")))
}

/// The end of what a command says.
async fn tail(mut said: mpsc::Receiver<Output>) -> String {
    let mut kept: Vec<u8> = Vec::new();
    while let Some(Output::Out(bytes) | Output::Error(bytes)) = said.recv().await {
        kept.extend(bytes);
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
    let start = kept.len().saturating_sub(KEPT);
    String::from_utf8_lossy(kept.get(start..).unwrap_or_default()).into_owned()
}

fn footprint<H: Hands>(scene: &Scene<'_, H>, failing: &[String]) -> Result<Footprint, Trouble> {
    let newest = scene.history.events.iter().rev().find_map(|recorded| {
        let Event::Implemented { difference, .. } = &recorded.event else { return None };
        Some(*difference)
    });
    let missing = || scene.failed(FailureKind::Internal, "there is no change to verify");
    Ok(Footprint::new(failing, newest.ok_or_else(missing)?))
}
