//! Letters that people see. What nobody sees has no place in what a person says yes to, signs, or reads on a terminal.

/// Whether people see `letter`, or what it does. Line breaks and tabs count.
pub fn is_visible(letter: char) -> bool {
    match letter {
        '\n' | '\t' => true,
        // Changes of direction, marks without width, line separators that some programs obey, and letters that look like nothing. The joiners
        // that writing and emoji need stay.
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
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        // Tags and the second set of variation selectors: whole sentences can hide in them.
        | '\u{e0000}'..='\u{e0fff}' => false,
        other => !other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_see_is_told_from_what_they_do_not() {
        let visible = |text: &str| text.chars().filter(|it| is_visible(*it)).collect::<String>();
        assert_eq!(visible("a\u{1b}[31m\0b\r\n\tc\u{85}"), "a[31mb\n\tc");
        assert_eq!(visible("rm \u{202e}txt.\u{2066}x\u{ad}\u{3164}"), "rm txt.x");
        assert_eq!(visible("naïve 👩‍💻 日本"), "naïve 👩‍💻 日本");
    }
}
