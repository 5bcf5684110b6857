//! Text that shows all that it says: without control characters, changes of direction and letters that nobody sees.

pub(crate) use domain::visible::{is_visible, visible};

/// `text` on one line, of at most `limit` bytes. What was cut is shown by `…`.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let text = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&text, limit)
}

/// At most `limit` bytes of `text`, with `…` at the end where something is missing.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(MARK.len());
    let end = text.floor_char_boundary(room);
    format!("{}{MARK}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_shown_to_be() {
        assert_eq!(line(" a\n b\u{202e}\t", 10), "a b");
        assert_eq!(line("ééééé", 8), "éé…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 0), "…");
    }
}
