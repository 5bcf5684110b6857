//! Letters that people see. What nobody sees has no place in what a person says yes to, signs, or reads on a terminal.
//!
//! This is the one list: terminals obey control characters, approvers are misled by letters that run backwards, and models read letters that
//! people do not see. `tests/architecture` finds a second list.
//!
//! Four letters of Unicode's invisible ones stay in text, because writing and emoji need them: the two joiners (U+200C, U+200D) and the two
//! selectors that choose between text and picture (U+FE0E, U+FE0F). In names, where nobody misses them, the joiners count as hidden.

/// Whether people see `letter`, or what it does. Line breaks and tabs count.
pub fn is_visible(letter: char) -> bool {
    match letter {
        '\n' | '\t' => true,
        // Changes of direction, marks without width, line separators that some programs obey, and letters that look like nothing.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        // Tags and the second set of variation selectors: whole sentences can hide in them.
        | '\u{e0000}'..='\u{e0fff}' => false,
        other => !other.is_control(),
    }
}

/// Whether `letter` may stand in a name or on a line that is compared by eye: seen, no joiner, and it breaks no line.
pub fn is_plain(letter: char) -> bool {
    is_visible(letter) && !matches!(letter, '\n' | '\t' | '\u{200c}' | '\u{200d}')
}

/// The text without what nobody sees.
pub fn visible(text: &str) -> String {
    text.chars().filter(|letter| is_visible(*letter)).collect()
}

/// One line on which nothing is hidden: what is not plain is spelt out, as `\u{202e}`.
pub fn spelt_line(text: &str) -> String {
    spelt(text, is_plain)
}

/// Several lines on which nothing is hidden: as [`spelt_line`], but line breaks and tabs stay.
pub fn spelt_lines(text: &str) -> String {
    spelt(text, |letter| is_plain(letter) || matches!(letter, '\n' | '\t'))
}

fn spelt(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if stays(letter) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_unicode());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unicode's `Default_Ignorable_Code_Point`, version 16.
    const IGNORABLE: [(u32, u32); 17] = [
        (0xad, 0xad),
        (0x34f, 0x34f),
        (0x61c, 0x61c),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x202a, 0x202e),
        (0x2060, 0x206f),
        (0x3164, 0x3164),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff0, 0xfff8),
        (0x1bca0, 0x1bca3),
        (0x1d173, 0x1d17a),
        (0xe0000, 0xe0fff),
    ];
    /// Unicode's `Bidi_Control`, and the separators that some programs take for the end of a line.
    const OBEYED: [(u32, u32); 5] =
        [(0x61c, 0x61c), (0x200e, 0x200f), (0x202a, 0x202e), (0x2066, 0x2069), (0x2028, 0x2029)];
    /// What stays in text, because writing and emoji need it.
    const NEEDED: [char; 4] = ['\u{200c}', '\u{200d}', '\u{fe0e}', '\u{fe0f}'];

    #[test]
    fn what_people_see_is_told_from_what_they_do_not() {
        assert_eq!(visible("a\u{1b}[31m\0b\r\n\tc\u{85}"), "a[31mb\n\tc");
        assert_eq!(visible("rm \u{202e}txt.\u{2066}x\u{ad}\u{3164}"), "rm txt.x");
        assert_eq!(visible("hi\u{e0069}\u{e0067}\u{feff}\u{200b}\u{fe00}"), "hi");
        assert_eq!(visible("naïve 👩‍💻 ❤️ 日本"), "naïve 👩‍💻 ❤️ 日本");
    }

    #[test]
    fn what_is_hidden_is_spelt_out() {
        assert_eq!(spelt_line("a\u{1b}[2Jb\u{202e}c\n"), "a\\u{1b}[2Jb\\u{202e}c\\u{a}");
        assert_eq!(spelt_lines("a\r\n\tb\u{200d}"), "a\\u{d}\n\tb\\u{200d}");
    }

    #[test]
    fn nothing_that_unicode_calls_invisible_or_turning_passes_but_what_emoji_need() {
        let all = (0..=u32::from(char::MAX)).filter_map(char::from_u32);
        let listed = |letter: char| {
            let mut ranges = IGNORABLE.iter().chain(&OBEYED);
            ranges.any(|(from, to)| (*from..=*to).contains(&u32::from(letter)))
        };
        for letter in all {
            let hidden = letter.is_control() || listed(letter);
            let stays = NEEDED.contains(&letter) || matches!(letter, '\n' | '\t');
            let code = u32::from(letter);
            if hidden && !stays {
                assert!(!is_visible(letter) && !is_plain(letter), "U+{code:04X} passes");
            } else if !hidden {
                // Marks of annotations are the only others: they hide what stands between them.
                let annotates = (0xfff9..=0xfffb).contains(&code);
                assert_eq!(is_visible(letter), !annotates, "U+{code:04X}");
            }
        }
        assert!(NEEDED.iter().all(|letter| is_visible(*letter)));
        assert_eq!(NEEDED.map(is_plain), [false, false, true, true]);
    }
}
