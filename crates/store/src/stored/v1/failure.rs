//! What went wrong, and what it means for the task.

use domain::{failure::FailureKind, id::PersonId, phase::Phase, task};
use serde::{Deserialize, Serialize};

use crate::stored::{shape::Shape, text::Text};

record! {
    Failure of domain::failure::Failure {
        kind: Text<FailureKind>,
        phase: Text<Phase>,
        message: String,
        last_lines: Vec<String>,
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::stored) enum Verdict {
    GoesOn,
    Stops(Failure),
}

impl Shape for Verdict {
    type Of = task::Verdict;

    fn of(value: &task::Verdict) -> Self {
        match value {
            task::Verdict::GoesOn => Self::GoesOn,
            task::Verdict::Stops(failure) => Self::Stops(Shape::of(failure)),
        }
    }

    fn value(self) -> task::Verdict {
        match self {
            Self::GoesOn => task::Verdict::GoesOn,
            Self::Stops(failure) => task::Verdict::Stops(failure.value()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::stored) enum PauseReason {
    Asked { by: Text<PersonId> },
    Failure(Failure),
}

impl Shape for PauseReason {
    type Of = task::PauseReason;

    fn of(value: &task::PauseReason) -> Self {
        match value {
            task::PauseReason::Asked { by } => Self::Asked { by: Shape::of(by) },
            task::PauseReason::Failure(failure) => Self::Failure(Shape::of(failure)),
        }
    }

    fn value(self) -> task::PauseReason {
        match self {
            Self::Asked { by } => task::PauseReason::Asked { by: by.value() },
            Self::Failure(failure) => task::PauseReason::Failure(failure.value()),
        }
    }
}
