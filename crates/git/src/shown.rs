//! Hostile text, as people may read it in a terminal or a page: nothing in it moves the cursor, hides or turns around.

/// Whether a character shows something else than it is, or shows nothing.
pub fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// One line of at most `longest` characters; what deceives is spelt out.
pub fn line(bytes: &[u8], longest: usize) -> String {
    let mut shown = String::new();
    for (count, c) in String::from_utf8_lossy(bytes).chars().enumerate() {
        if count == longest {
            shown.push('…');
            break;
        }
        match c {
            c if deceives(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Several lines: as [`line`], but line breaks and tabs stay.
pub fn text(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if deceives(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
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
