//! Text that shows all that it says.
//!
//! Terminals obey control characters, approvers are misled by letters that run backwards, and models read letters that people do
//! not see. What comes from outside loses them.

/// Whether people see `letter`, or what it does: line breaks and tabs count, other control characters do not.
pub(crate) fn is_visible(letter: char) -> bool {
    match letter {
        '\n' | '\t' => true,
        // Changes of direction, and marks that take no room. The joiners that writing and emoji need stay.
        '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        // Tags and variation selectors: whole sentences can hide in them.
        | '\u{e0000}'..='\u{e0fff}' => false,
        other => !other.is_control(),
    }
}

pub(crate) fn visible(text: &str) -> String {
    text.chars().filter(|letter| is_visible(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_taken_out() {
        assert_eq!(visible("a\u{1b}[31m\0b\r\n\tc"), "a[31mb\n\tc");
        assert_eq!(visible("rm \u{202e}txt.\u{2066}x"), "rm txt.x");
        assert_eq!(visible("hi\u{e0069}\u{e0067}\u{feff}\u{200b}"), "hi");
        assert_eq!(visible("naïve 👩‍💻 日本"), "naïve 👩‍💻 日本");
    }
}
