//! What a run came to.

use domain::plan::Plan;

/// What an answer is marked with in an agent's words, as the info string of a fence.
pub const MARK: &str = "lamp-answer";

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub answer: Answer,
    /// What the program calls its memory of this run. Only for the same program.
    pub session: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It needs to know something before it can go on.
    Question {
        text: String,
        choices: Vec<String>,
    },
    Notes(String),
    Plan(Plan),
    /// The work in the sandbox is ready to be looked at.
    Change,
    Review(Vec<Finding>),
}

/// A fault that a reviewer found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: u32,
    pub what: String,
    pub failing_input: String,
}
