//! Finds the end of a head as its bytes arrive, and looks at each byte once.

use super::{HEAD_LIMIT, HEADER_LIMIT, HeadError, LINE_LIMIT};

/// How far a head has been looked at. One per head.
#[derive(Debug, Clone)]
pub struct Scan {
    at: usize,
    line_start: usize,
    lines: usize,
    after_return: bool,
    text: Text,
}

/// Which bytes may stand in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Ascii,
    /// Hosts answer with bytes above 127 in values; we pass them on as they are.
    Bytes,
}

impl Scan {
    pub const fn of_request() -> Self {
        Self { at: 0, line_start: 0, lines: 0, after_return: false, text: Text::Ascii }
    }

    pub const fn of_response() -> Self {
        Self { at: 0, line_start: 0, lines: 0, after_return: false, text: Text::Bytes }
    }

    /// Where the head ends, once it is there. `buffer` holds all bytes since the head began.
    pub fn end(&mut self, buffer: &[u8]) -> Result<Option<usize>, HeadError> {
        for byte in buffer.iter().skip(self.at) {
            let at = self.at;
            if at >= HEAD_LIMIT {
                return Err(HeadError::TooLong);
            }
            self.allowed(*byte)?;
            self.at += 1;
            self.after_return = *byte == b'\r';
            if *byte == b'\n' {
                let length = (at - self.line_start).saturating_sub(1);
                self.line_start = self.at;
                match (length, self.lines) {
                    (0, 0) => return Err(HeadError::EmptyStart),
                    (0, _) => return Ok(Some(self.at)),
                    (_, lines) if lines > HEADER_LIMIT => return Err(HeadError::TooManyHeaders),
                    (_, _) => self.lines += 1,
                }
            } else if self.lines == 0 && at - self.line_start > LINE_LIMIT {
                return Err(HeadError::LineTooLong);
            }
        }
        Ok(None)
    }

    fn allowed(&self, byte: u8) -> Result<(), HeadError> {
        match (byte, self.after_return) {
            (b'\n', true) | (b'\r' | b'\t' | b' '..=b'~', false) => Ok(()),
            (b'\n', false) => Err(HeadError::BareLineFeed),
            (_, true) => Err(HeadError::BareReturn),
            (0x80.., false) if self.text == Text::Bytes => Ok(()),
            (_, false) => Err(HeadError::ForbiddenByte(byte)),
        }
    }
}

/// The lines of a head whose ends a [`Scan`] has checked, without the empty one.
pub(super) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
}
