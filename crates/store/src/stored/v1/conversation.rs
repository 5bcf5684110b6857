//! What is asked of people, and what they or the forge say about an open pull request.

use domain::{
    id::{PersonId, QuestionId},
    task,
};
use serde::{Deserialize, Serialize};

use crate::stored::{shape::Shape, text::Text};

record! {
    Question of domain::question::Question {
        id: Text<QuestionId>,
        text: String,
        choices: Vec<String>,
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::stored) enum WakeCause {
    Comment { by: Text<PersonId>, text: String },
    FailedCheck { check: String },
}

impl Shape for WakeCause {
    type Of = task::WakeCause;

    fn of(value: &task::WakeCause) -> Self {
        match value {
            task::WakeCause::Comment { by, text } => {
                Self::Comment { by: Shape::of(by), text: text.clone() }
            }
            task::WakeCause::FailedCheck { check } => Self::FailedCheck { check: check.clone() },
        }
    }

    fn value(self) -> task::WakeCause {
        match self {
            Self::Comment { by, text } => task::WakeCause::Comment { by: by.value(), text },
            Self::FailedCheck { check } => task::WakeCause::FailedCheck { check },
        }
    }
}
