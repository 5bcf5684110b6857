//! How far a task may go, and who may let it through the gate.

use domain::{approval, approval::FourEyes, id::PersonId, people::TeamName};
use serde::{Deserialize, Serialize};

use crate::stored::{
    shape::{Micros, Millis, Set, Shape},
    text::Text,
};

record! {
    Limits of domain::limits::Limits {
        attempts: u8,
        review_rounds: u8,
        follow_ups: u8,
        budget as "budget_micros": Micros,
        time as "time_millis": PhaseTimes,
        gate: GateRules,
        answer_patience as "answer_patience_millis": Millis,
    }
}

record! {
    PhaseTimes of domain::limits::PhaseTimes {
        prepare: Millis,
        research: Millis,
        plan: Millis,
        implement: Millis,
        verify: Millis,
        review: Millis,
        deliver: Millis,
    }
}

record! {
    GateRules of approval::GateRules {
        four_eyes: Text<FourEyes>,
        approvers: Approvers,
        patience as "patience_millis": Millis,
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::stored) enum Approvers {
    AnyApprover,
    Listed { people: Set<Text<PersonId>>, teams: Set<Text<TeamName>> },
}

impl Shape for Approvers {
    type Of = approval::Approvers;

    fn of(value: &approval::Approvers) -> Self {
        match value {
            approval::Approvers::AnyApprover => Self::AnyApprover,
            approval::Approvers::Listed { people, teams } => {
                Self::Listed { people: Shape::of(people), teams: Shape::of(teams) }
            }
        }
    }

    fn value(self) -> approval::Approvers {
        match self {
            Self::AnyApprover => approval::Approvers::AnyApprover,
            Self::Listed { people, teams } => {
                approval::Approvers::Listed { people: people.value(), teams: teams.value() }
            }
        }
    }
}
