//! Other people's words, marked so that they cannot step out of their marks.

use domain::transcript::shortened;
use serde::Serialize;

use super::visible;

/// What is too short to be worth a piece of it.
const PIECE: usize = 256;

/// Bytes of one line of a list.
const LINE: usize = 300;

/// `text` in a fence that is longer than any like it in the text, so that nothing inside closes it.
pub(super) fn fenced(info: &str, text: &str) -> String {
    let text = visible(text);
    let text = text.trim_end();
    let (ticks, tildes) = (longest_run(text, '`'), longest_run(text, '~'));
    // Whoever fills a text with one of them does not make the fence as long as the text.
    let (mark, run) = if ticks <= tildes { ("`", ticks) } else { ("~", tildes) };
    let fence = mark.repeat(run.max(2) + 1);
    format!("{fence}{info}\n{text}\n{fence}")
}

fn longest_run(text: &str, mark: char) -> usize {
    text.split(|letter| letter != mark).map(str::len).max().unwrap_or_default()
}

/// `text` as a part of one line, also between backticks.
pub(super) fn line(text: &str) -> String {
    let text = visible(&shortened(text.to_owned(), LINE));
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'")
}

/// A list in one fence, or nothing if it is empty. At most `most` lines.
pub(super) fn fenced_list<T: AsRef<str>>(items: &[T], most: usize) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut lines: Vec<String> = items.iter().take(most).map(|item| line(item.as_ref())).collect();
    let more = items.len().saturating_sub(most);
    if more > 0 {
        lines.push(format!("[… {more} more left out …]"));
    }
    fenced("text", &lines.join("\n"))
}

/// Texts, and how many are not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Quotes {
    pub(super) texts: Vec<String>,
    pub(super) left_out: usize,
}

/// How much of several texts is told.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) most: usize,
    pub(super) each: usize,
    pub(super) together: usize,
}

/// Texts of one kind: others' words, people's later words, findings.
pub(super) const TEXTS: Room = Room { most: 20, each: 8 * 1024, together: 32 * 1024 };

impl Room {
    /// The first of `texts` that there is room for, each dressed.
    pub(super) fn first(self, texts: &[String], dress: fn(&str) -> String) -> Quotes {
        self.fill(texts.iter(), dress)
    }

    /// The last of them, in their order.
    pub(super) fn last(self, texts: &[String], dress: fn(&str) -> String) -> Quotes {
        let mut quotes = self.fill(texts.iter().rev(), dress);
        quotes.texts.reverse();
        quotes
    }

    fn fill<'a>(
        mut self,
        texts: impl Iterator<Item = &'a String>,
        dress: fn(&str) -> String,
    ) -> Quotes {
        let mut quotes = Quotes::default();
        for text in texts {
            let has_place = quotes.texts.len() < self.most;
            match has_place.then(|| self.piece(text)).flatten() {
                Some(piece) => quotes.texts.push(dress(&piece)),
                None => quotes.left_out += 1,
            }
        }
        quotes
    }

    /// As much of `text` as there is room for, if it is worth it. The room gets smaller.
    pub(super) fn piece(&mut self, text: &str) -> Option<String> {
        let limit = self.each.min(self.together);
        if text.len() > limit && limit < PIECE {
            return None;
        }
        let piece = shortened(text.to_owned(), limit);
        self.together = self.together.saturating_sub(piece.len());
        Some(piece)
    }
}

/// A text in its fence.
pub(super) fn quoted(text: &str) -> String {
    fenced("text", text)
}
