//! A question to a person. It ends the turn, and stands in the last message where a program finds it.

use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub question: String,
    #[serde(default)]
    pub choices: Vec<String>,
}

const LONGEST_QUESTION: usize = 4000;
const LONGEST_CHOICE: usize = 500;
const MOST_CHOICES: usize = 10;

impl Question {
    pub(super) fn check(self) -> Result<Self, String> {
        if self.question.trim().is_empty() {
            return Err("the question is empty".to_owned());
        }
        if self.question.len() > LONGEST_QUESTION {
            return Err(format!("a question has at most {LONGEST_QUESTION} bytes"));
        }
        let is_long = self.choices.iter().any(|choice| choice.len() > LONGEST_CHOICE);
        if self.choices.len() > MOST_CHOICES || is_long {
            return Err(format!(
                "there are at most {MOST_CHOICES} choices, each of at most {LONGEST_CHOICE} bytes"
            ));
        }
        Ok(self)
    }

    /// The block that the platform looks for. The JSON is one line, so nothing in it can close the block; and it begins a line, whatever was
    /// said before.
    pub fn block(&self) -> String {
        let answer = json!({ "question": { "text": self.question, "choices": self.choices } });
        format!("\n```lamp-answer\n{answer}\n```\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_cannot_close_its_block() {
        let question = Question { question: "a\n```\nb".to_owned(), choices: vec![] }.block();
        let lines: Vec<&str> = question.lines().collect();
        assert_eq!(lines.len(), 4, "{question}");
        let value: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
        assert_eq!(value["question"]["text"], "a\n```\nb");
        assert_eq!(value["question"]["choices"], json!([]));
    }
}
