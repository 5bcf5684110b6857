//! The list of steps that a person sees.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub text: String,
    pub status: Status,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

const MOST_STEPS: usize = 50;
const LONGEST_STEP: usize = 500;

impl Plan {
    pub(super) fn check(self) -> Result<Self, String> {
        if self.steps.len() > MOST_STEPS {
            return Err(format!("a plan has at most {MOST_STEPS} steps"));
        }
        if self.steps.iter().any(|step| step.text.len() > LONGEST_STEP) {
            return Err(format!("a step has at most {LONGEST_STEP} bytes"));
        }
        Ok(self)
    }
}
