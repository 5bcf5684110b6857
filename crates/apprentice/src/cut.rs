//! Text that is too long is cut in the middle: the begin says what it is, the end how it went.

use std::collections::VecDeque;

/// At most about `most` bytes of `text`, with a note where the rest was.
pub fn middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = floor(text, most / 3);
    let tail = ceil(text, text.len() - (most - most / 3));
    let left_out = tail - head;
    let (begin, end) = (text.get(..head).unwrap_or(""), text.get(tail..).unwrap_or(""));
    format!("{begin}\n[… {left_out} bytes left out …]\n{end}")
}

/// The first `most` bytes of a line that a person reads: no line breaks, no control characters.
pub fn line(text: &str, most: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let begin = text.get(..floor(text, most)).unwrap_or("");
    let more = if begin.len() < text.len() { "…" } else { "" };
    begin.chars().map(clean).chain(more.chars()).collect()
}

/// Pieces of at most `most` bytes, none of which splits a character.
pub fn pieces(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = match floor(rest, most) {
            0 => rest.len(),
            at => at,
        };
        let (piece, after) = rest.split_at_checked(at)?;
        rest = after;
        Some(piece)
    })
}

/// The last place at or before `at` that splits no character.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Keeps the begin and the end of what a program prints, however much that is.
#[derive(Debug)]
pub struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most: usize,
    seen: u64,
}

impl HeadAndTail {
    pub fn new(most: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), most, seen: 0 }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.seen = self.seen.saturating_add(bytes.len() as u64);
        let into_head = (self.most / 3).saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(into_head).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let room = self.most - self.most / 3;
        let over = self.tail.len().saturating_sub(room);
        self.tail.drain(..over);
    }

    /// How many bytes came, kept or not.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// As text. What is not UTF-8 becomes the replacement character.
    pub fn text(&self) -> String {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let left_out = self.seen.saturating_sub(kept);
        let mut bytes = self.head.clone();
        if left_out > 0 {
            bytes.extend_from_slice(format!("\n[… {left_out} bytes left out …]\n").as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_begin_and_the_end_stay() {
        let text = format!("begin{}end", "x".repeat(1000));
        let cut = middle(&text, 90);
        assert!(cut.starts_with("begin") && cut.ends_with("end"), "{cut}");
        assert!(cut.contains("918 bytes left out"), "{cut}");
    }

    #[test]
    fn a_line_for_people_has_no_control_characters() {
        assert_eq!(line("a\nb\u{1b}[31mcdef", 8), "a b [31m…");
    }

    proptest! {
        #[test]
        fn cutting_never_splits_a_character_and_keeps_the_limit(text in "\\PC{0,200}", most in 0_usize..100) {
            let cut = middle(&text, most);
            prop_assert!(cut.len() <= most.max(text.len().min(most)) + 40);
            let joined: String = pieces(&text, most.max(4)).collect();
            prop_assert_eq!(joined, text.clone());
        }

        #[test]
        fn head_and_tail_count_all_and_keep_little(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..50)) {
            let mut kept = HeadAndTail::new(30);
            for part in &parts {
                kept.feed(part);
            }
            let all: Vec<u8> = parts.concat();
            prop_assert_eq!(kept.seen(), all.len() as u64);
            if all.len() <= 30 {
                prop_assert_eq!(kept.text(), String::from_utf8_lossy(&all));
            } else {
                prop_assert!(kept.text().len() <= 30 * 3 + 60);
            }
        }
    }
}
