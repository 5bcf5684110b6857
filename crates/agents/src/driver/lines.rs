//! Programs that take one prompt at their input and say lines of JSON: a process for each turn.
//!
//! What people say meanwhile waits until the turn is over, and is then the next turn, in the same session.

use std::time::Duration;

use serde_json::Value;

use super::{Came, Fault, Step, Talk};
use crate::{
    director::Next as Direction,
    language::{Heard, codex, gemini},
    program::Lines,
};

/// How long a process may go on when its turn is over.
const STAYING: Duration = Duration::from_secs(2);

pub(crate) async fn converse(talk: &mut Talk<'_>, lines: Lines) -> Result<Step, Fault> {
    talk.pipe.say_bytes(talk.prompt.as_bytes().to_vec()).await?;
    talk.pipe.hang_up();
    let mut over = None;
    loop {
        let next = talk.next();
        let came = if over.is_some() {
            // It has answered. One that does not go is ended.
            let Ok(came) = tokio::time::timeout(STAYING, next).await else { break };
            came?
        } else {
            next.await?
        };
        match came {
            Came::End => break,
            Came::Words(words) => talk.hear(words).await,
            Came::Line(line) => {
                // The first end counts: nothing that comes after it takes it back.
                let said = talk.tell(read(lines, &line)).await;
                over = over.or(said);
            }
        }
    }
    match talk.after(over.ok_or(Fault::Ended)?)? {
        Direction::Answered(answer) => Ok(Step::Answered(answer)),
        Direction::Say(next) => Ok(Step::Again(next)),
        Direction::Unusable(faults) => Err(Fault::Unusable(faults)),
    }
}

pub(crate) fn read(lines: Lines, line: &Value) -> Vec<Heard> {
    match lines {
        Lines::Codex => codex::read(line),
        Lines::Gemini => gemini::read(line),
    }
}
