//! The stages that a task goes through, as the demo tells them, and how long each took.

use wire::{
    task::event::{RecordedEvent, TaskEvent},
    time::Time,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Prepare,
    Research,
    Plan,
    Gate,
    Implement,
    Verify,
    Review,
    Deliver,
}

impl Stage {
    pub(crate) const ALL: [Self; 8] = [
        Self::Prepare,
        Self::Research,
        Self::Plan,
        Self::Gate,
        Self::Implement,
        Self::Verify,
        Self::Review,
        Self::Deliver,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Research => "research",
            Self::Plan => "plan",
            Self::Gate => "gate",
            Self::Implement => "implement",
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Deliver => "deliver",
        }
    }

    /// What happens in it, for somebody who sees it for the first time.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Prepare => "a sandbox is opened, with the repository in it",
            Self::Research => "the agent looks around, and can change nothing",
            Self::Plan => "the agent says what it wants to do, and can still change nothing",
            Self::Gate => "nothing goes on until a person has approved exactly this plan",
            Self::Implement => {
                "the agent works in a new sandbox; what the plan does not name is told"
            }
            Self::Verify => {
                "the platform runs the checks itself, on clean copies, before and after"
            }
            Self::Review => "a second agent looks at the change, and can change nothing",
            Self::Deliver => "the change is inspected, pushed to one branch, and signed for",
        }
    }

    /// The stage that begins with an event in a stage. None where none does.
    const fn after(event: &TaskEvent, now: Option<Self>) -> Option<Self> {
        match event {
            TaskEvent::Requested { .. } => Some(Self::Prepare),
            // Every sandbox is prepared; the work's own as well.
            TaskEvent::Prepared { .. } => match now {
                Some(Self::Prepare) | None => Some(Self::Research),
                Some(
                    Self::Research
                    | Self::Plan
                    | Self::Gate
                    | Self::Implement
                    | Self::Verify
                    | Self::Review
                    | Self::Deliver,
                ) => None,
            },
            TaskEvent::Researched { .. } | TaskEvent::Rejected { .. } => Some(Self::Plan),
            TaskEvent::PlanSubmitted { .. } => Some(Self::Gate),
            TaskEvent::Approved { .. }
            | TaskEvent::ChecksFailed { stopped_by: None, .. }
            | TaskEvent::ReviewFoundFaults { stopped_by: None, .. } => Some(Self::Implement),
            TaskEvent::Implemented { .. } => Some(Self::Verify),
            TaskEvent::ChecksPassed { .. }
            | TaskEvent::ChecksNotWorse { .. }
            | TaskEvent::ChecksUnproven { .. } => Some(Self::Review),
            TaskEvent::ReviewPassed { .. } => Some(Self::Deliver),
            TaskEvent::Admitted {}
            | TaskEvent::QuestionAsked { .. }
            | TaskEvent::Answered { .. }
            | TaskEvent::ChecksFailed { stopped_by: Some(_), .. }
            | TaskEvent::ReviewFoundFaults { stopped_by: Some(_), .. }
            | TaskEvent::PullRequestOpened { .. }
            | TaskEvent::Woken { .. }
            | TaskEvent::FindingDismissed { .. }
            | TaskEvent::Messaged { .. }
            | TaskEvent::Amended { .. }
            | TaskEvent::BudgetRaised { .. }
            | TaskEvent::Charged { .. }
            | TaskEvent::Paused { .. }
            | TaskEvent::Resumed { .. }
            | TaskEvent::Retried { .. }
            | TaskEvent::Done { .. }
            | TaskEvent::Failed { .. }
            | TaskEvent::Cancelled { .. }
            | TaskEvent::Unknown => None,
        }
    }
}

/// How long the stages took, by the times of the events alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stopwatch {
    begun: Option<(Stage, Time)>,
    taken: Vec<(Stage, i64)>,
}

impl Stopwatch {
    /// The stage that begins with this event, if one does.
    pub(crate) fn hear(&mut self, recorded: &RecordedEvent) -> Option<Stage> {
        let next = Stage::after(&recorded.event, self.begun.map(|(stage, _)| stage));
        let ends = matches!(recorded.event, TaskEvent::PullRequestOpened { .. });
        if next.is_some() || ends {
            if let Some((stage, since)) = self.begun.take() {
                self.taken.push((stage, recorded.at.as_millis() - since.as_millis()));
            }
            self.begun = next.map(|stage| (stage, recorded.at));
        }
        next
    }

    /// Of one stage, all its rounds together; none when it never ended.
    pub(crate) fn millis(&self, stage: Stage) -> Option<i64> {
        let rounds = self.taken.iter().filter(|(taken, _)| *taken == stage);
        rounds.map(|(_, millis)| *millis).reduce(|sum, more| sum + more)
    }

    pub(crate) fn total(&self) -> i64 {
        self.taken.iter().map(|(_, millis)| millis).sum()
    }
}

/// `0.4 s`, `12.0 s`.
pub(crate) fn seconds(millis: i64) -> String {
    let tenths = millis.max(0).saturating_add(50) / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use wire::task::{plan::Conditions, shown::Person};

    use super::*;

    fn at(millis: i64, event: TaskEvent) -> RecordedEvent {
        RecordedEvent { number: 1, at: Time::from_millis(millis), event }
    }

    #[test]
    fn rounds_of_a_stage_are_added_up() {
        let implemented = || TaskEvent::Implemented {
            commit: String::new(),
            base: String::new(),
            difference: String::new(),
            record: String::new(),
            session: None,
        };
        let mut watch = Stopwatch::default();
        let faults = TaskEvent::ReviewFoundFaults {
            evidence: String::new(),
            findings: Vec::new(),
            stopped_by: None,
        };
        let passed = || TaskEvent::ChecksPassed { evidence: String::new(), headline: None };
        let events = [
            at(0, faults.clone()),
            at(1000, implemented()),
            at(1500, passed()),
            at(2500, faults),
            at(4500, implemented()),
            at(4750, TaskEvent::Admitted {}),
            at(5000, passed()),
            at(6000, TaskEvent::ReviewPassed { evidence: String::new() }),
            at(6100, TaskEvent::PullRequestOpened { number: 1, receipt: String::new() }),
        ];
        for event in &events {
            watch.hear(event);
        }
        let taken = Stage::ALL.map(|stage| watch.millis(stage));
        let expected = [None, None, None, None, Some(3000), Some(1000), Some(2000), Some(100)];
        assert_eq!((taken, watch.total()), (expected, 6100));
    }

    #[test]
    fn a_sandbox_for_the_work_begins_no_new_research() {
        let mut watch = Stopwatch::default();
        let approved = TaskEvent::Approved {
            plan: String::new(),
            by: Person { id: String::new(), name: None },
            conditions: Conditions::default(),
        };
        let prepared = || TaskEvent::Prepared {
            sandbox: String::new(),
            commit: String::new(),
            left: wire::task::event::Leftovers::default(),
        };
        assert_eq!(watch.hear(&at(0, prepared())), Some(Stage::Research));
        assert_eq!(watch.hear(&at(1, approved)), Some(Stage::Implement));
        assert_eq!(watch.hear(&at(2, prepared())), None);
    }

    #[test]
    fn times_are_told_in_tenths_of_a_second() {
        assert_eq!(
            [0, 49, 50, 999, 61_234].map(seconds),
            ["0.0 s", "0.0 s", "0.1 s", "1.0 s", "61.2 s"]
        );
    }
}
