//! Server-sent events, as far as they carry JSON: the text after `data:`, until an empty line.

use super::{scan::Scan, tally::Tally};

#[derive(Debug, Default)]
pub(super) struct Events {
    line: Line,
    scan: Scan,
    /// The first bytes of an event's data, by which the last event of a chat is known.
    begin: Vec<u8>,
    /// The last byte was a carriage return: a line feed after it ends nothing more.
    after_return: bool,
}

/// Where in a line the next byte is.
#[derive(Debug)]
enum Line {
    /// In the name of a field, of which this much was seen.
    Name(Vec<u8>),
    /// After `data:`, where one space may follow.
    BeforeData,
    Data,
    /// In a field that is of no interest.
    Other,
}

impl Default for Line {
    fn default() -> Self {
        Self::Name(Vec::new())
    }
}

const DATA: &[u8] = b"data";
const DONE: &[u8] = b"[DONE]";

impl Events {
    pub(super) fn feed(&mut self, bytes: &[u8], tally: &mut Tally) {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            // The text of an event is the most, and is taken at once.
            if matches!(self.line, Line::Data) && !matches!(first, b'\n' | b'\r') {
                let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                let (data, next) =
                    rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
                self.data(data, tally);
                self.after_return = false;
                rest = next;
                continue;
            }
            self.byte(*first, tally);
            rest = after;
        }
    }

    fn byte(&mut self, byte: u8, tally: &mut Tally) {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        match (byte, &mut self.line) {
            (b'\n', _) if after_return => {}
            (b'\n' | b'\r', line) => {
                let was_empty = matches!(line, Line::Name(name) if name.is_empty());
                self.line = Line::default();
                if was_empty { self.event_ends(tally) } else { self.data(b"\n", tally) }
            }
            (b':', Line::Name(name)) => {
                self.line = if name == DATA { Line::BeforeData } else { Line::Other };
            }
            (_, Line::Name(name)) if name.len() < DATA.len() => name.push(byte),
            (_, Line::Name(_)) => self.line = Line::Other,
            (b' ', Line::BeforeData) => self.line = Line::Data,
            (_, Line::BeforeData) => {
                self.line = Line::Data;
                self.data(&[byte], tally);
            }
            (_, Line::Data) => self.data(&[byte], tally),
            (_, Line::Other) => {}
        }
    }

    fn data(&mut self, data: &[u8], tally: &mut Tally) {
        let missing = DONE.len().saturating_sub(self.begin.len());
        self.begin.extend(data.iter().filter(|byte| !byte.is_ascii_whitespace()).take(missing));
        if self.begin == DONE {
            tally.done();
        }
        self.scan.feed(data, &mut |path, value| tally.found(path, value));
    }

    fn event_ends(&mut self, tally: &mut Tally) {
        if !self.begin.is_empty() && self.begin != DONE {
            tally.event_ends();
        }
        self.begin.clear();
        self.scan = Scan::default();
    }
}
