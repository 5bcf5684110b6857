//! Hostile text, as people may read it in a terminal or a page: nothing in it moves the cursor, hides or turns around.
//!
//! What is hidden is [`domain::visible`]'s to say; here it is cut to one line.

use domain::visible::{is_plain, spelt_line, spelt_lines};

/// Whether a character shows something else than it is, or shows nothing.
pub fn deceives(c: char) -> bool {
    !is_plain(c)
}

/// One line of at most `longest` characters; what deceives is spelt out.
pub fn line(bytes: &[u8], longest: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", spelt_line(text.get(..end).unwrap_or_default())),
        None => spelt_line(&text),
    }
}

/// Several lines: as [`line`], but line breaks and tabs stay.
pub fn text(bytes: &[u8]) -> String {
    spelt_lines(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_hides_or_turns_around_is_spelt_out() {
        assert_eq!(line("a\u{1b}[2Jb\u{202e}c".as_bytes(), 99), "a\\u{1b}[2Jb\\u{202e}c");
        assert_eq!(line(b"abc", 2), "ab…");
        assert_eq!(text(b"a\r\n\tb"), "a\\u{d}\n\tb");
    }

    proptest! {
        #[test]
        fn nothing_that_is_shown_deceives(bytes: Vec<u8>) {
            prop_assert!(!line(&bytes, 50).chars().any(deceives));
            prop_assert!(!text(&bytes).chars().any(|c| deceives(c) && !matches!(c, '\n' | '\t')));
        }
    }
}
