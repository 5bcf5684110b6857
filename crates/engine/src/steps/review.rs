//! A second agent reviews the change, in a fresh session and a sandbox where it cannot write (RV1).

use contracts::agent::{Answer, Mode, Outcome as Reviewed};
use domain::{
    failure::FailureKind,
    task::{Mandate, Purpose, Report, Work},
};

use super::{
    Done, Outcome, Scene,
    agent::{self, Memory},
    open, side,
};
use crate::{Hands, record::ReviewRecord};

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
    let round = scene.task.stage.mandate().map_or(0, Mandate::review_round);
    let record = ReviewRecord::of(commit, u64::from(round) + 1, &findings);
    let evidence = scene.keep(&record.to_text())?;
    let report = if findings.is_empty() {
        Report::ReviewPassed { evidence }
    } else {
        // Whether they count is for the task's rules to say: a person may have dismissed them meanwhile.
        Report::ReviewFoundFaults { evidence, findings: record.ids() }
    };
    Ok(Done::Reports(vec![report]))
}
