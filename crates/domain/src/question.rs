//! What an agent asks a person, in the middle of its work (PL2).

use crate::id::QuestionId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub id: QuestionId,
    pub text: String,
    /// Answers to choose from, if the agent gave some. A person may always write their own.
    pub choices: Vec<String>,
}
