//! What people can do now, as a sentence and as commands that they can type.

use domain::{
    failure::{Failure, FailureKind},
    phase::Phase,
    task::{DoneBecause, PauseReason, Resting, Stage, Task},
};
use wire::task::shown::{Next, NextCommand};

/// What is known about a task beside how it stands.
pub(super) struct Around<'a> {
    /// What people type for it.
    pub(super) short: &'a str,
    /// Why it still waits for a place.
    pub(super) queue: Option<&'a str>,
    /// Where its pull request is.
    pub(super) repository: &'a str,
    pub(super) checks: Checks,
}

/// Whether there are results of checks to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checks {
    Ran,
    Never,
}

pub(super) fn next(task: &Task, around: &Around<'_>) -> Next {
    let Around { short, queue, repository, checks } = *around;
    let stage = &task.stage;
    // An approval names the plan, so that the line also works where nobody can be asked.
    let plan = stage.waiting_plan().map(|plan| plan.to_string()).unwrap_or_default();
    let say = |sentence: String, commands: &[(&str, &str)]| Next {
        sentence,
        commands: commands
            .iter()
            .map(|(command, does)| NextCommand {
                command: command.replace('@', short).replace('#', &plan),
                does: (*does).to_owned(),
            })
            .collect(),
    };
    match stage {
        Stage::Queued { .. } | Stage::Waking { .. } => say(
            match queue {
                Some(reason) => format!("it waits for a place: {reason}"),
                None => "it waits for a place".to_owned(),
            },
            &[FOLLOW, CANCEL],
        ),
        Stage::Preparing { .. } | Stage::Working(_) => say(
            format!("it is {}; nothing is needed from you", stage.name()),
            &[FOLLOW, MESSAGE, PAUSE, CANCEL],
        ),
        Stage::AwaitingAnswer { .. } => {
            say("the agent waits for your answer".to_owned(), &[ANSWER, CANCEL])
        }
        Stage::AwaitingApproval { .. } => {
            say("the plan waits for a decision".to_owned(), &[PLAN, APPROVE, REJECT])
        }
        Stage::Paused { at, why } => paused(task, (at, why), checks, &say),
        Stage::PullRequestOpen { number, .. } => {
            let merge = format!("lamp pr merge {} --repo {repository}", number.0);
            let look = format!("lamp pr get {} --repo {repository}", number.0);
            say(
                format!("pull request {number} waits for review"),
                &[
                    (&look, "shows the pull request"),
                    DIFF,
                    CHECKS,
                    (&merge, "merges it"),
                    ("lamp message @ \"…\"", "asks for a change to it"),
                ],
            )
        }
        Stage::Done { because } => say(
            match because {
                DoneBecause::Merged => "it is done: its pull request was merged",
                DoneBecause::PullRequestClosed => "it is done: its pull request was closed",
                DoneBecause::TakenOver => "it is done: somebody took the branch over",
            }
            .to_owned(),
            &[USAGE],
        ),
        Stage::Failed { failure, .. } => say(stopped(failure), &[LOG, RETRY]),
        Stage::Cancelled { .. } => say("it was cancelled".to_owned(), &[USAGE]),
    }
}

const FOLLOW: (&str, &str) = ("lamp log -f @", "follows it");
const LOG: (&str, &str) = ("lamp log @", "shows what happened");
const MESSAGE: (&str, &str) = ("lamp message @ \"…\"", "says something to the agent");
const PAUSE: (&str, &str) = ("lamp pause @", "pauses it");
const RESUME: (&str, &str) = ("lamp resume @", "goes on where it was");
const RETRY: (&str, &str) = ("lamp retry @", "tries the phase again");
const CANCEL: (&str, &str) = ("lamp cancel @", "ends it");
const ANSWER: (&str, &str) = ("lamp answer @ \"…\"", "answers");
const PLAN: (&str, &str) = ("lamp plan @", "shows the plan");
const APPROVE: (&str, &str) = ("lamp approve @ #", "approves it");
const REJECT: (&str, &str) = ("lamp reject @ \"…\"", "sends it back with a comment");
const AMEND: (&str, &str) = ("lamp amend @ --path … --host …", "changes what the approval allows");
const BUDGET: (&str, &str) =
    ("lamp resume @ --budget 20", "goes on with a larger budget of its own");
const DIFF: (&str, &str) = ("lamp diff @", "shows the change");
const CHECKS: (&str, &str) = ("lamp checks @", "shows the checks");
const DELIVER: (&str, &str) = ("lamp resume @", "delivers the change");
const REVIEW: (&str, &str) = ("lamp review @", "shows what the reviewer found");
const DISMISS: (&str, &str) = ("lamp review @ --dismiss ID", "says that a finding does not count");
const USAGE: (&str, &str) = ("lamp usage @", "shows what it cost");

fn stopped(failure: &Failure) -> String {
    format!("it stopped ({failure}): {}", failure.kind.remedy())
}

/// Makes what is told of a sentence and commands.
type Say<'a> = &'a dyn Fn(String, &[(&str, &str)]) -> Next;

fn paused(task: &Task, (at, why): (&Resting, &PauseReason), checks: Checks, say: Say<'_>) -> Next {
    let sentence = match why {
        PauseReason::Asked { .. } => "it is paused".to_owned(),
        PauseReason::Failure(failure) => stopped(failure),
    };
    match at {
        Resting::Gate { .. } => say(sentence, &[PLAN, APPROVE, REJECT, CANCEL]),
        Resting::Question { .. } => say(sentence, &[ANSWER, RESUME, CANCEL]),
        Resting::Work(_) => match why {
            PauseReason::Failure(Failure { kind: FailureKind::BudgetHit, .. }) => {
                say(sentence, &[USAGE, BUDGET, RESUME, CANCEL])
            }
            PauseReason::Asked { .. } | PauseReason::Failure(_) if task.is_cleared() => {
                let sentence =
                    "all that the reviewer found was dismissed; it is delivered when it goes on";
                say(sentence.to_owned(), &[REVIEW, DELIVER, MESSAGE, CANCEL])
            }
            // An agent that changes nothing may have been asked for something that is no fault.
            PauseReason::Failure(Failure { kind: FailureKind::NoProgress, .. })
                if task.held_back.is_some() =>
            {
                say(sentence, &[REVIEW, DISMISS, MESSAGE, RESUME, CANCEL])
            }
            PauseReason::Failure(Failure {
                kind: FailureKind::TestLoop | FailureKind::NoProgress,
                ..
            }) => match checks {
                Checks::Ran => say(sentence, &[CHECKS, MESSAGE, RESUME, CANCEL]),
                Checks::Never => say(sentence, &[LOG, MESSAGE, RESUME, CANCEL]),
            },
            PauseReason::Failure(Failure { kind: FailureKind::ReviewLoop, .. }) => {
                say(sentence, &[REVIEW, DISMISS, MESSAGE, RESUME, CANCEL])
            }
            // What checks may reach is a matter of the agent's file and of the policy, which no approval widens.
            PauseReason::Failure(Failure {
                kind: FailureKind::EgressBlocked,
                phase: Phase::Verify,
                ..
            }) => say(sentence, &[CHECKS, LOG, RESUME, MESSAGE, CANCEL]),
            PauseReason::Failure(Failure {
                kind: FailureKind::EgressBlocked | FailureKind::PlanDrift,
                ..
            }) => say(sentence, &[LOG, AMEND, MESSAGE, RESUME, CANCEL]),
            PauseReason::Asked { .. } | PauseReason::Failure(_) => {
                say(sentence, &[LOG, MESSAGE, RESUME, RETRY, CANCEL])
            }
        },
    }
}
