//! Any program: its task at its input, its words as they come, and its end.

use contracts::agent::Words;
use domain::transcript::AgentEvent;

use super::{Fault, MOMENT, Talk};
use crate::{language::Heard, pipe::Next};

/// What a person hears who speaks to it.
const DEAF: &str =
    "this program cannot be spoken to while it works: what was said did not reach it";

/// Comes back when the program has said all.
pub(crate) async fn converse(talk: &mut Talk<'_>) -> Result<(), Fault> {
    // One that does not read what it is told may still do its work.
    let _unread = talk.pipe.say_bytes(talk.prompt.as_bytes().to_vec()).await;
    talk.pipe.hang_up();
    loop {
        tokio::select! {
            biased;
            Some(Words(_)) = talk.words.recv() => {
                talk.teller.tell(AgentEvent::Trouble { text: DEAF.to_owned() }).await;
            }
            next = talk.pipe.next(MOMENT) => match next? {
                Next::Line(line) => {
                    talk.quiet = std::time::Duration::ZERO;
                    talk.teller.heard(Heard::Text(line + "\n")).await;
                }
                Next::Pause => talk.pause().await?,
                Next::End => return Ok(()),
            }
        }
    }
}
