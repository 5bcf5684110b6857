//! Text that cannot be longer than its limit, nor steer a terminal.
//!
//! Whatever a tool printed goes through here before anybody sees it: control characters, those that turn the direction of writing and those
//! that nobody sees are replaced, and what is too long is cut between two characters and ends with `…`.

use std::{fmt, ops::Deref};

use domain::visible::is_visible;

pub use crate::limits::{DETAILS_BYTES, LABEL_BYTES, MESSAGE_BYTES};
use crate::output::plain;

pub type Label = Text<LABEL_BYTES>;
pub type Message = Text<MESSAGE_BYTES>;
pub type Details = Text<DETAILS_BYTES>;

/// Stands at the end of what was cut.
const CUT: &str = "…";

/// At most `LIMIT` bytes of text, without control characters but line ends and tabs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text<const LIMIT: usize>(String);

impl<const LIMIT: usize> Text<LIMIT> {
    /// The text without white space around it, made harmless and cut.
    pub fn new(text: &str) -> Self {
        Self::cut(plain(text).trim())
    }

    /// Lines that are aligned with each other, without empty ones before and after them, made harmless and cut.
    pub fn block(text: &str) -> Self {
        let text = plain(text);
        let text = text.trim_end();
        let blank = text.len() - text.trim_start().len();
        let first = text.get(..blank).and_then(|blank| blank.rfind('\n')).map_or(0, |at| at + 1);
        Self::cut(text.get(first..).unwrap_or_default())
    }

    fn cut(text: &str) -> Self {
        let mut kept = String::with_capacity(text.len().min(LIMIT));
        let mut characters = text.chars().map(harmless);
        for character in characters.by_ref() {
            if kept.len() + character.len_utf8() > LIMIT {
                shorten(&mut kept, LIMIT.saturating_sub(CUT.len()));
                kept.push_str(CUT);
                return Self(kept);
            }
            kept.push(character);
        }
        Self(kept)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Nothing, if there is nothing.
    pub fn filled(self) -> Option<Self> {
        (!self.0.is_empty()).then_some(self)
    }
}

impl<const LIMIT: usize> From<&str> for Text<LIMIT> {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl<const LIMIT: usize> Deref for Text<LIMIT> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const LIMIT: usize> fmt::Display for Text<LIMIT> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<const LIMIT: usize> fmt::Debug for Text<LIMIT> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

/// Cuts between two characters, so that at most `most` bytes are left.
pub(crate) fn shorten(text: &mut String, most: usize) {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
}

/// A character that a terminal shows and does not obey, and that people see.
fn harmless(character: char) -> char {
    if is_visible(character) { character } else { char::REPLACEMENT_CHARACTER }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_two_characters_and_says_so() {
        assert_eq!(Text::<8>::new("12345678").as_str(), "12345678");
        assert_eq!(Text::<8>::new("123456789").as_str(), "12345…");
        assert_eq!(Text::<8>::new("äääää").as_str(), "ää…");
    }

    #[test]
    fn nothing_in_it_steers_a_terminal_or_turns_a_line_around() {
        assert_eq!(
            Text::<64>::new("a\u{1b}[31mb\u{202e}c\u{7}d\n\te").as_str(),
            "ab\u{fffd}c\u{fffd}d\n\te"
        );
        assert_eq!(
            Text::<64>::new("o\u{200b}k\u{feff}\u{ad}\u{e0069} 👩‍💻").as_str(),
            "o\u{fffd}k\u{fffd}\u{fffd}\u{fffd} 👩‍💻"
        );
    }

    proptest! {
        #[test]
        fn a_text_keeps_its_limit_and_reads_back_as_itself(text in "\\PC{0,40}|.{0,40}") {
            let kept = Text::<16>::new(&text);
            prop_assert!(kept.len() <= 16);
            prop_assert!(kept.chars().all(is_visible));
            prop_assert_eq!(Text::<16>::new(&kept), kept.clone());
        }
    }
}
