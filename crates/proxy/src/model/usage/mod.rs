//! What an answer of a model says that it used, read while the answer passes by.
//!
//! ```text
//!  bytes ──▶ JSON, or events with JSON in them ──▶ values at a few paths ──▶ Usage
//! ```
//!
//! Nothing is kept but the few values that are looked for, however long an answer is. What a model writes is inside of strings,
//! and a string is never taken for anything else.
//!
//! A stream of a chat (`OpenaiChat`) tells its usage only if the request said `stream_options: {"include_usage": true}`. Whoever did
//! not say so gets a [`Usage`] that is not `complete`, and is charged by what went over the wire.

mod events;
mod scan;
mod tally;

use self::{events::Events, scan::Scan, tally::Tally};
use crate::ask::{Dialect, Usage};

/// Reads one answer.
#[derive(Debug)]
pub struct Reader {
    tally: Tally,
    form: Form,
}

/// What the answer is made of.
#[derive(Debug)]
enum Form {
    /// Nothing but space came yet.
    Unknown,
    /// One value, or a list of them.
    Json(Scan),
    /// `data: …`, again and again.
    Events(Events),
}

impl Reader {
    pub fn new(dialect: Dialect) -> Self {
        Self { tally: Tally::new(dialect), form: Form::Unknown }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if matches!(self.form, Form::Unknown) {
            // Space, and the mark that some put before text in UTF-8.
            let is_nothing =
                |byte: &u8| byte.is_ascii_whitespace() || [0xef, 0xbb, 0xbf].contains(byte);
            let begin = rest.iter().position(|byte| !is_nothing(byte)).unwrap_or(rest.len());
            rest = rest.get(begin..).unwrap_or_default();
            self.form = match rest.first() {
                None => return,
                Some(b'{' | b'[') => Form::Json(Scan::default()),
                Some(_) => Form::Events(Events::default()),
            };
        }
        let Self { tally, form } = self;
        match form {
            Form::Unknown => {}
            Form::Json(scan) => scan.feed(rest, &mut |path, value| tally.found(path, value)),
            Form::Events(events) => events.feed(rest, tally),
        }
    }

    /// What was used, as far as it was told.
    pub fn finish(mut self) -> Usage {
        if let Form::Json(scan) = &self.form
            && scan.is_whole()
        {
            self.tally.whole();
        }
        self.tally.usage()
    }
}

#[cfg(test)]
mod tests;
