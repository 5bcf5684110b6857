//! Words for the shell.

/// The text as one word of `sh`, whatever is in it. Plain words stay as they are, for the reader.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_a_word() {
        assert_eq!(quoted("./web"), "./web");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("$(touch x)"), "'$(touch x)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
