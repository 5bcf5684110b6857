//! What an agent's last words mean: a plan, findings, a question, or that the work is done.
//!
//! ````text
//!  … whatever the agent says to people …
//!
//!  ```lamp-answer
//!  {"question": {"text": "Which of the two databases?", "choices": ["the old one", "the new one"]}}
//!  ```
//! ````
//!
//! | mode | what may be in the block | without a block |
//! |---|---|---|
//! | research | `notes`, `question` | the words are the notes |
//! | plan | `plan`, `question` | a fault |
//! | implement | `change`, `question` | the work is done |
//! | review | `review` | a fault |
//!
//! The shapes are the JSON schemas in `docs/reference/prompts/schemas`.
//!
//! **Invariants:** no text makes this panic, and none takes more than a little time for each of its bytes. Nothing is guessed: what
//! is not in a block is prose, and prose is never a question. What is wrong is told all at once, in sentences for the agent, which
//! are bounded in number and length. No text in an answer has characters that cannot be seen.

mod block;
mod convert;
mod fault;
mod fence;
mod json;
mod number;
mod path;
mod schema;
#[cfg(test)]
mod tests;

pub use contracts::agent::MARK;
use contracts::agent::{Answer, Mode};
use domain::transcript::shortened;

use domain::visible::visible;

pub(crate) use block::PlanShape;
pub use block::block;
pub use fault::Faults;
pub(crate) use schema::Kind;

/// Bytes of one answer.
pub const LIMIT: usize = 256 * 1024;

/// Bytes of notes that were not put into a block. The middle of longer ones is left out.
pub const NOTES_LIMIT: usize = 64 * 1024;

/// What `text`, the last words of an agent in `mode`, means.
pub fn read(mode: Mode, text: &str) -> Result<Answer, Faults> {
    match fence::last(text).map_err(Faults::one)? {
        Some(block) => read_plain(mode, &block),
        None => without_block(mode, text),
    }
}

/// The same, where the object is all that there is: for programs that write it into a file.
pub fn read_plain(mode: Mode, json: &str) -> Result<Answer, Faults> {
    if json.len() > LIMIT {
        let length = json.len();
        return Err(Faults::one(format!("the answer has {length} bytes, and {LIMIT} are allowed")));
    }
    if json.trim().is_empty() {
        return Err(Faults::one("the answer is empty: write one JSON object".to_owned()));
    }
    let value = json::parse(json).map_err(|reason| {
        Faults::one(format!("the answer is not JSON as it should be: {reason}"))
    })?;
    convert::answer(mode, value)
}

fn without_block(mode: Mode, text: &str) -> Result<Answer, Faults> {
    let missing = |kind: Kind| {
        Err(Faults::one(format!(
            "there is no block marked `{MARK}`: end with one that holds `{{\"{}\": …}}`",
            kind.name()
        )))
    };
    match mode {
        Mode::Plan => missing(Kind::Plan),
        Mode::Review => missing(Kind::Review),
        Mode::Implement => Ok(Answer::Change),
        Mode::Research => {
            let notes = visible(text);
            let notes = notes.trim();
            if notes.is_empty() {
                return Err(Faults::one("there are no notes: say what you found".to_owned()));
            }
            Ok(Answer::Notes(shortened(notes.to_owned(), NOTES_LIMIT)))
        }
    }
}
