//! What can go wrong, by name, with what to do about it (PL8).
//!
//! A failure is for a person: it says where the task stood, what happened, what the last lines were,
//! and the next step. Its name is stable, so that dashboards and scripts can count it.

use std::fmt;

use crate::phase::Phase;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    pub phase: Phase,
    pub message: String,
    /// The end of the log, already redacted. At most [`Failure::LINES`].
    pub last_lines: Vec<String>,
}

macro_rules! failure_kinds {
    ($($(#[$document:meta])* $kind:ident, $name:literal, $ending:ident, $remedy:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FailureKind {
            $($(#[$document])* $kind,)+
        }

        impl FailureKind {
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// The stable name, as it stands in the API, in metrics and in the documents.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }

            /// The next step, for the person who reads it.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$kind => $remedy),+ }
            }

            /// What a failure of this kind does to its task.
            pub const fn ending(self) -> Ending {
                match self { $(Self::$kind => Ending::$ending),+ }
            }
        }
    };
}

/// What a failure does to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It pauses and asks for help: a person can change something and resume.
    Pauses,
    /// It ends. A person may retry it.
    Ends,
}

failure_kinds! {
    /// The checks still fail after the last attempt.
    TestLoop, "test_loop", Pauses,
        "look at the failing checks, then send a hint with `lamp message` and `lamp resume`";
    DependencyConflict, "dependency_conflict", Pauses,
        "fix the versions or the system library in the image's setup, then `lamp resume`";
    /// Nobody decided about the plan in time.
    ApprovalTimeout, "approval_timeout", Pauses,
        "read the plan, then `lamp resume` and approve or reject it";
    /// Nobody answered a question in time.
    AnswerTimeout, "answer_timeout", Pauses,
        "`lamp resume` asks the question again; `lamp answer` answers it";
    Oom, "oom", Pauses,
        "raise `sandbox.compute.memory`, or make the command use less, then `lamp resume`";
    /// It failed, and its sandbox had no room left on its disk.
    DiskFull, "disk_full", Pauses,
        "raise `sandbox.compute.disk`, then `lamp resume`";
    BudgetHit, "budget_hit", Pauses,
        "raise the task's own budget with `lamp resume --budget`; another's in `policy.yaml` or `lamp.yaml`, with `lamp policy reload` and `lamp resume`; or cancel the task";
    /// The same failing checks and the same change again.
    NoProgress, "no_progress", Pauses,
        "send a hint with `lamp message`, then `lamp resume`";
    /// It failed, and hosts that it asked for were refused meanwhile.
    EgressBlocked, "egress_blocked", Pauses,
        "allow the host with `lamp amend --host` where only the approval is narrower; otherwise in `policy.yaml` and the agent's file, with `lamp policy reload` and `lamp resume`";
    /// A phase took longer than it may, or all work longer than its approver allowed.
    TimeLimit, "time_limit", Pauses,
        "raise the phase's limit, or the approval's with `lamp amend --time`, or split the task, then `lamp resume`";
    PlanDrift, "plan_drift", Pauses,
        "allow it with `lamp amend`, or say what to do instead with `lamp message`; then `lamp resume`, or end it with `lamp cancel`";
    /// The agent's plan could not be read, or could not be shown to a person.
    PlanUnusable, "plan_unusable", Pauses,
        "`lamp retry --from plan`, or say more precisely what you want with `lamp message`";
    /// The agent's answer could not be read, or is none that fits its phase.
    AnswerUnusable, "answer_unusable", Pauses,
        "read the last lines; `lamp resume` asks the agent again, with what you tell it by `lamp message`";
    /// The reviewer still finds faults after the last round.
    ReviewLoop, "review_loop", Pauses,
        "read the findings with `lamp review`; dismiss those that are none with `--dismiss`, or send a hint with `lamp message`, then `lamp resume`";
    AgentError, "agent_error", Ends,
        "read the last lines; `lamp retry` tries again; `lamp agent check` with a program of `lamp agent list` tests it alone";
    SandboxLost, "sandbox_lost", Ends,
        "`lamp retry` starts a fresh sandbox; `lamp doctor` shows what the host lacks";
    SetupFailed, "setup_failed", Ends,
        "run `lamp image build` to see the whole log, fix the setup script, then `lamp retry`";
    /// The repository could not be read, or the branch could not be written.
    ForgeError, "forge_error", Ends,
        "check the repository's address and the permissions of the installation, then `lamp retry`";
    /// What the agent wants to deliver holds something that must not leave.
    DeliveryRefused, "delivery_refused", Pauses,
        "look at the refused paths or findings, then send a hint with `lamp message` and `lamp resume`";
    /// A fault of ours.
    Internal, "internal", Ends,
        "please report it with `lamp get --json`; `lamp retry` tries again";
}

impl Failure {
    pub const LINES: usize = 40;
    pub const LINE_LIMIT: usize = 500;

    pub fn new(kind: FailureKind, phase: Phase, message: impl Into<String>) -> Self {
        Self { kind, phase, message: message.into(), last_lines: Vec::new() }
    }

    /// Keeps the end of `log`, and of each line the beginning.
    #[must_use]
    pub fn with_log(mut self, log: &str) -> Self {
        let lines: Vec<&str> = log.lines().collect();
        let kept = lines.iter().skip(lines.len().saturating_sub(Self::LINES));
        self.last_lines = kept.map(|line| line.chars().take(Self::LINE_LIMIT).collect()).collect();
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} while {}: {}", self.kind.name(), self.phase.doing(), self.message)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_failure_has_its_own_name_and_a_next_step() {
        let names: BTreeSet<&str> = FailureKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), FailureKind::ALL.len());
        let promised = [
            "test_loop",
            "dependency_conflict",
            "approval_timeout",
            "oom",
            "budget_hit",
            "no_progress",
            "egress_blocked",
            "agent_error",
            "sandbox_lost",
        ];
        assert!(promised.iter().all(|name| names.contains(name)), "{names:?}");
        let remedies: BTreeSet<&str> = FailureKind::ALL.iter().map(|kind| kind.remedy()).collect();
        assert_eq!(remedies.len(), FailureKind::ALL.len(), "each has a next step of its own");
        for kind in FailureKind::ALL {
            // Back to work, by what a person can type. That `lamp` knows it is shown there.
            let ways: &[&str] = match kind.ending() {
                Ending::Pauses => &["`lamp resume", "`lamp retry"],
                Ending::Ends => &["`lamp retry"],
            };
            let remedy = kind.remedy();
            assert!(ways.iter().any(|way| remedy.contains(way)), "{}: {remedy}", kind.name());
        }
    }

    #[test]
    fn a_failure_reads_as_a_sentence_and_keeps_the_end_of_the_log() {
        let log = (0..100).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
        let failure = Failure::new(FailureKind::Oom, Phase::Implement, "4.0 GiB of 4.0 GiB used")
            .with_log(&log);
        assert_eq!(failure.to_string(), "oom while implementing: 4.0 GiB of 4.0 GiB used");
        assert_eq!(failure.last_lines.len(), Failure::LINES);
        assert_eq!(failure.last_lines.last().unwrap(), "line 99");
    }
}
