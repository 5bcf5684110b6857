//! Any program: its task at its input, its words as they come, and its end.

use super::{Fault, Talk};
use crate::{language::Heard, pipe::Next};

/// How long to wait before looking whether something has to be told.
const MOMENT: std::time::Duration = super::MOMENT;

/// Comes back when the program has said all.
pub(crate) async fn converse(talk: &mut Talk<'_>) -> Result<(), Fault> {
    // One that does not read what it is told may still do its work.
    let _unread = talk.pipe.say_bytes(talk.prompt.as_bytes().to_vec()).await;
    talk.pipe.hang_up();
    loop {
        match talk.pipe.next(MOMENT).await? {
            Next::Line(line) => {
                talk.quiet = std::time::Duration::ZERO;
                talk.teller.heard(Heard::Text(line + "\n")).await;
            }
            Next::Pause => talk.pause().await?,
            Next::End => return Ok(()),
        }
    }
}
