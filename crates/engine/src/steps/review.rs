//! A second agent reviews the change, in a fresh session and a sandbox where it cannot write (RV1).

use std::fmt::Write as _;

use contracts::agent::{Answer, Mode, Outcome as Reviewed};
use domain::{
    failure::FailureKind,
    task::{Purpose, Report, Work},
};

use super::{
    Done, Outcome, Scene,
    agent::{self, Memory},
    open, side,
};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let Some(commit) = scene.task.stage.work().and_then(Work::commit) else {
        return Err(scene.failed(FailureKind::Internal, "there is no commit to review"));
    };
    let sandbox = scene.side_sandbox("review");
    side::open(scene, sandbox, Purpose::Review, commit).await?;
    // The reviewer asks a model too.
    let reviewed = match open::grant(scene, sandbox).await {
        Ok(()) => agent::run(scene, Mode::Review, sandbox, Memory::Fresh).await,
        Err(trouble) => Err(trouble),
    };
    let Reviewed { answer, .. } = side::close(scene, sandbox, reviewed).await?;
    let findings = match answer {
        Answer::Review(findings) => findings,
        other @ (Answer::Question { .. } | Answer::Notes(_) | Answer::Plan(_) | Answer::Change) => {
            return Err(agent::unexpected(scene, &other));
        }
    };
    let mut text = format!("review of {commit}: {} findings\n", findings.len());
    for finding in &findings {
        // Writing to a string does not fail.
        let _written = writeln!(
            text,
            "{}:{}: {} (fails with: {})",
            finding.path, finding.line, finding.what, finding.failing_input
        );
    }
    let evidence = scene.keep(&text)?;
    let report = if findings.is_empty() {
        Report::ReviewPassed { evidence }
    } else {
        Report::ReviewFoundFaults { evidence }
    };
    Ok(Done::Reports(vec![report]))
}
