//! Text that shows all that it says.
//!
//! Terminals obey control characters, approvers are misled by letters that run backwards, and models read letters that people do
//! not see. What comes from outside loses them.

pub(crate) use domain::visible::is_visible;

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
        assert_eq!(visible("hi\u{e0069}\u{e0067}\u{feff}\u{200b}\u{ad}\u{3164}"), "hi");
        assert_eq!(visible("naïve 👩‍💻 日本"), "naïve 👩‍💻 日本");
    }
}
