//! Code as words and brackets, with strings and comments blanked.

use std::ops::Range;

use super::super::{languages::Language, mask::mask};

const NONE: u32 = u32::MAX;

pub(super) struct Code<'a> {
    text: &'a str,
    masked: Vec<u8>,
    /// For each opening bracket the place of its closing one.
    closing: Vec<u32>,
    line_starts: Vec<usize>,
    language: Language,
    /// Bytes of bodies that may still be measured. Bodies can lie in one another, and then a small file would take long.
    left: usize,
}

impl<'a> Code<'a> {
    pub(super) fn read(text: &'a str, language: Language) -> Self {
        let masked = mask(text, language);
        let closing = match_brackets(&masked);
        let ends =
            masked.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        Self { text, left: masked.len().saturating_mul(4), masked, closing, line_starts, language }
    }

    pub(super) fn original(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    /// Only code; strings and comments are blank.
    pub(super) fn masked(&self, range: Range<usize>) -> &str {
        let bytes = self.masked.get(range).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.masked.len()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.masked.get(at).copied()
    }

    /// The line on which an offset stands, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    pub(super) fn lines(&self) -> usize {
        self.line_starts.len()
    }

    /// Offsets of a line, counted from 0.
    pub(super) fn line_range(&self, index: usize) -> Range<usize> {
        let start = self.line_starts.get(index).copied().unwrap_or(self.len());
        let end = self.line_starts.get(index + 1).copied().unwrap_or(self.len());
        start..end
    }

    /// The closing bracket of the one that opens here.
    pub(super) fn closing(&self, at: usize) -> Option<usize> {
        let end = self.closing.get(at).copied().filter(|end| *end != NONE)?;
        usize::try_from(end).ok()
    }

    /// The next place that is no white space.
    pub(super) fn next_code(&self, from: usize) -> Option<usize> {
        let rest = self.masked.get(from..)?;
        rest.iter().position(|byte| !byte.is_ascii_whitespace()).map(|at| from + at)
    }

    /// The word that begins here.
    pub(super) fn word_at(&self, at: usize) -> Option<Range<usize>> {
        // Asking for the next word instead would read a table without words again for each of its brackets.
        self.byte(at).filter(|byte| is_word(*byte))?;
        self.next_word(at, at + 1)
    }

    /// The next word at or after a place, if it begins before `end`.
    pub(super) fn next_word(&self, from: usize, end: usize) -> Option<Range<usize>> {
        let bytes = self.masked.get(from..end.min(self.len()))?;
        let start = from + bytes.iter().position(|byte| is_word(*byte))?;
        let length = self.masked.get(start..)?.iter().take_while(|byte| is_word(**byte)).count();
        Some(start..start + length)
    }

    /// The next one of these bytes.
    pub(super) fn find(&self, bytes: &[u8], range: Range<usize>) -> Option<usize> {
        let start = range.start;
        let here = self.masked.get(start..range.end.min(self.len()))?;
        here.iter().position(|byte| bytes.contains(byte)).map(|at| start + at)
    }

    /// The body, if it may still be looked at.
    pub(super) fn afford(&mut self, body: Range<usize>) -> Option<Range<usize>> {
        self.left = self.left.checked_sub(body.len())?;
        Some(body)
    }

    pub(super) fn language(&self) -> Language {
        self.language
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn match_brackets(masked: &[u8]) -> Vec<u32> {
    let mut closing = vec![NONE; masked.len()];
    let mut open: Vec<(usize, u8)> = Vec::new();
    for (at, byte) in masked.iter().enumerate() {
        match byte {
            b'(' => open.push((at, b')')),
            b'[' => open.push((at, b']')),
            b'{' => open.push((at, b'}')),
            b')' | b']' | b'}' => {
                // A bracket that closes another one than the last is a slip; what lies between stays unmatched.
                if open.last().is_some_and(|(_, wanted)| wanted == byte)
                    && let Some((start, _)) = open.pop()
                    && let (Some(slot), Ok(end)) = (closing.get_mut(start), u32::try_from(at))
                {
                    *slot = end;
                }
            }
            _ => {}
        }
    }
    closing
}
