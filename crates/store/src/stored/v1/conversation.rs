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
    Remarks { remarks: Vec<Remark> },
}

/// In its first version it does not say whether they are who they say, and then nobody knows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::stored) struct Remark {
    kind: RemarkKind,
    name: String,
    by: String,
    text: String,
}

impl Shape for Remark {
    type Of = task::Remark;

    fn of(value: &task::Remark) -> Self {
        let task::Remark { kind, name, by, speaker: _, text } = value;
        Self { kind: Shape::of(kind), name: name.clone(), by: by.clone(), text: text.clone() }
    }

    fn value(self) -> task::Remark {
        let Self { kind, name, by, text } = self;
        task::Remark { kind: kind.value(), name, by, speaker: task::Speaker::Unproven, text }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::stored) enum RemarkKind {
    Comment,
    Review,
}

impl Shape for RemarkKind {
    type Of = task::RemarkKind;

    fn of(value: &task::RemarkKind) -> Self {
        match value {
            task::RemarkKind::Comment => Self::Comment,
            task::RemarkKind::Review => Self::Review,
        }
    }

    fn value(self) -> task::RemarkKind {
        match self {
            Self::Comment => task::RemarkKind::Comment,
            Self::Review => task::RemarkKind::Review,
        }
    }
}

impl Shape for WakeCause {
    type Of = task::WakeCause;

    fn of(value: &task::WakeCause) -> Self {
        match value {
            task::WakeCause::Comment { by, text } => {
                Self::Comment { by: Shape::of(by), text: text.clone() }
            }
            task::WakeCause::FailedCheck { check } => Self::FailedCheck { check: check.clone() },
            task::WakeCause::Remarks(remarks) => Self::Remarks { remarks: Shape::of(remarks) },
        }
    }

    fn value(self) -> task::WakeCause {
        match self {
            Self::Comment { by, text } => task::WakeCause::Comment { by: by.value(), text },
            Self::FailedCheck { check } => task::WakeCause::FailedCheck { check },
            Self::Remarks { remarks } => task::WakeCause::Remarks(remarks.value()),
        }
    }
}
