//! What is understood, what is refused with which words, and what holds for every text.

mod fences;
mod properties;
mod shapes;

use contracts::agent::{Answer, Mode};

use super::*;

fn question() -> Answer {
    Answer::Question { text: "which?".to_owned(), choices: vec!["a".to_owned(), "b".to_owned()] }
}

const ASKED: &str = r#"{"question": {"text": "which?", "choices": ["a", "b"]}}"#;

/// The only sentence about it.
fn fault(mode: Mode, text: &str) -> String {
    let faults = read(mode, text).unwrap_err();
    assert_eq!(faults.sentences().len(), 1, "{faults}");
    faults.to_string()
}
