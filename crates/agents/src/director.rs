//! Decides what a finished turn means: an answer, a repair round, or somebody's words that still have to be said.

use std::{collections::VecDeque, sync::Arc};

use contracts::agent::{Answer, Mode};
use domain::transcript::{self, shortened};

use crate::{
    answer::{self, Faults, Kind},
    brief::Templates,
};

/// Words that wait to be said, and their bytes. Whoever says more than this is not listened to.
const WAITING: usize = 100;
const WAITING_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Director {
    mode: Mode,
    templates: Arc<Templates>,
    has_repaired: bool,
    waiting: VecDeque<String>,
    /// What the program asked by a tool of its own.
    asked: Option<Answer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    Answered(Answer),
    Say(String),
    /// Also after it was told what is wrong.
    Unusable(Faults),
}

impl Director {
    pub(crate) const fn new(mode: Mode, templates: Arc<Templates>) -> Self {
        Self { mode, templates, has_repaired: false, waiting: VecDeque::new(), asked: None }
    }

    /// A person said something that is passed on when the turn is over. Tells whether there was room for it.
    pub(crate) fn hear(&mut self, words: String) -> bool {
        let bytes: usize = self.waiting.iter().map(String::len).sum();
        let has_room =
            self.waiting.len() < WAITING && bytes.saturating_add(words.len()) <= WAITING_BYTES;
        if has_room {
            self.waiting.push_back(words);
        }
        has_room
    }

    /// Whether a turn that does not come to its end has a reason that we know: somebody's words, or a question.
    pub(crate) fn expects_a_stop(&self) -> bool {
        !self.waiting.is_empty() || self.asked.is_some()
    }

    /// The program asked a person something, by a tool of its own.
    pub(crate) fn asked(&mut self, text: String, choices: Vec<String>) {
        let text = shortened(text, transcript::LIMIT);
        let choices = choices.into_iter().take(transcript::LIST_LIMIT);
        let choices = choices.map(|it| shortened(it, transcript::LINE_LIMIT)).collect();
        self.asked = Some(Answer::Question { text, choices });
    }

    /// A turn ended with these words.
    pub(crate) fn after(&mut self, said: &str) -> Next {
        let question = self.asked.take();
        if !self.waiting.is_empty() {
            // Whoever was asked has spoken.
            let words: Vec<String> = self.waiting.drain(..).collect();
            return Next::Say(steering(&words.join("\n\n")));
        }
        match (question, Kind::instead(self.mode)) {
            (Some(question), Some(_)) => return Next::Answered(question),
            (Some(_), None) => return self.repair(Faults::one(NOBODY_TO_ASK.to_owned())),
            (None, _) => {}
        }
        match answer::read(self.mode, said) {
            Ok(answer) => Next::Answered(answer),
            Err(faults) => self.repair(faults),
        }
    }

    /// Says what is wrong, once.
    fn repair(&mut self, faults: Faults) -> Next {
        if self.has_repaired {
            return Next::Unusable(faults);
        }
        self.has_repaired = true;
        let repair = self.templates.repair(self.mode, &faults);
        // Templates were tried when they were loaded.
        Next::Say(repair.unwrap_or_else(|_broken| faults.to_string()))
    }
}

/// What a program is told that asks by a tool of its own where nobody answers.
const NOBODY_TO_ASK: &str = "you asked a question, and nobody can be asked in this phase";

/// How a person's words are put to a program that is in the middle of something.
pub(crate) fn steering(words: &str) -> String {
    format!(
        "The person you work for says:\n\n{words}\n\nTake it into account, and go on with the task."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn director(mode: Mode) -> Director {
        Director::new(mode, Arc::new(Templates::builtin().unwrap()))
    }

    #[test]
    fn a_malformed_answer_gets_one_repair_round() {
        let mut director = director(Mode::Plan);
        assert!(matches!(director.after("no block"), Next::Say(_)));
        assert!(matches!(director.after("still none"), Next::Unusable(_)));
    }

    #[test]
    fn words_that_waited_go_before_an_answer() {
        let mut director = director(Mode::Implement);
        director.hear("use tabs".to_owned());
        let Next::Say(words) = director.after("done") else { panic!("it must be said") };
        assert!(words.contains("use tabs"));
        assert_eq!(director.after("done"), Next::Answered(Answer::Change));
    }

    #[test]
    fn a_question_by_a_tool_is_the_answer_whatever_else_was_said() {
        let mut director = director(Mode::Plan);
        director.asked("which?".to_owned(), vec!["a".to_owned()]);
        assert!(matches!(director.after("…"), Next::Answered(Answer::Question { .. })));
    }

    #[test]
    fn a_reviewer_that_asks_is_told_once_that_nobody_answers() {
        let mut director = director(Mode::Review);
        director.asked("which commit?".to_owned(), Vec::new());
        let Next::Say(told) = director.after("…") else { panic!("it must be told") };
        assert!(told.contains(NOBODY_TO_ASK) && !told.contains("\"question\""), "{told}");
        let block = "```lamp-answer\n{\"question\": {\"text\": \"which commit?\"}}\n```";
        let Next::Unusable(faults) = director.after(block) else { panic!("it asked again") };
        assert!(faults.to_string().contains("with one key, `review`"), "{faults}");
    }

    #[test]
    fn words_after_a_question_are_its_answer() {
        let mut director = director(Mode::Implement);
        director.asked("which?".to_owned(), Vec::new());
        assert!(director.expects_a_stop() && director.hear("the first".to_owned()));
        assert!(matches!(director.after("…"), Next::Say(_)));
        assert_eq!(director.after("done"), Next::Answered(Answer::Change), "it is not asked again");
    }

    #[test]
    fn words_are_no_flood() {
        let mut director = director(Mode::Implement);
        let taken = (0..1_000).filter(|_| director.hear("x".repeat(10_000))).count();
        assert_eq!(taken, WAITING_BYTES / 10_000);
    }

    #[test]
    fn a_question_is_no_flood() {
        let mut director = director(Mode::Plan);
        director.asked("?".repeat(1_000_000), vec!["!".repeat(1_000_000); 1_000]);
        let Next::Answered(Answer::Question { text, choices }) = director.after("") else {
            panic!("it must be asked");
        };
        let whole: usize = text.len() + choices.iter().map(String::len).sum::<usize>();
        assert!(whole < 100_000, "{whole}");
    }
}
