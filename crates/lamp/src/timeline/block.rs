//! Leaves the block with an agent's answer out of its words: what it says is told as an answer, in its own shape.

/// Words that come in pieces. What may be the beginning of a block is held back until it is known.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// The line so far, where it may still open or close a block.
    line: String,
    is_inside: bool,
    /// The rest of this line is nothing that matters.
    is_ordinary: bool,
}

const FENCE: &str = "```";

impl Words {
    /// What of `piece` is not in a block.
    pub(crate) fn feed(&mut self, piece: &str) -> String {
        let mut told = String::new();
        for letter in piece.chars() {
            if letter == '\n' {
                self.end_line(&mut told);
            } else if !self.is_ordinary {
                self.line.push(letter);
                self.look(&mut told);
            } else if !self.is_inside {
                told.push(letter);
            }
        }
        told
    }

    /// What is still held back, when nothing more comes.
    pub(crate) fn finish(&mut self) -> String {
        let Self { line, is_inside, .. } = std::mem::take(self);
        if is_inside || opens(&line) { String::new() } else { line }
    }

    fn end_line(&mut self, told: &mut String) {
        let line = std::mem::take(&mut self.line);
        let was_ordinary = std::mem::take(&mut self.is_ordinary);
        if self.is_inside {
            self.is_inside = was_ordinary || line.trim() != FENCE;
        } else if !was_ordinary && opens(&line) {
            self.is_inside = true;
        } else {
            told.push_str(&line);
            told.push('\n');
        }
    }

    /// Lets go of a line that cannot open or close a block any more.
    fn look(&mut self, told: &mut String) {
        let text = self.line.trim_start();
        let mark = format!("{FENCE}{}", contracts::agent::MARK);
        let may_matter = if self.is_inside {
            text.trim_end() == FENCE || FENCE.starts_with(text)
        } else {
            mark.starts_with(text) || opens(text)
        };
        if !may_matter {
            self.is_ordinary = true;
            let line = std::mem::take(&mut self.line);
            if !self.is_inside {
                told.push_str(&line);
            }
        }
    }
}

fn opens(line: &str) -> bool {
    line.trim().strip_prefix(FENCE).is_some_and(|rest| rest.trim() == contracts::agent::MARK)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(pieces: &[&str]) -> String {
        let mut words = Words::default();
        let mut told: String = pieces.iter().map(|piece| words.feed(piece)).collect();
        told.push_str(&words.finish());
        told
    }

    #[test]
    fn a_block_is_left_out_however_it_comes() {
        let all = "Look:\n```rust\nfn x() {}\n```\n```lamp-answer\n{\"notes\": \"``` no\"}\n```\nThat is it.";
        let expected = "Look:\n```rust\nfn x() {}\n```\nThat is it.";
        assert_eq!(told(&[all]), expected);
        let letters: Vec<String> = all.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(told(&letters), expected);
        assert_eq!(told(&["```lamp-answer\n{\"notes\": 1}"]), "", "one that is not closed");
        assert_eq!(told(&["a ``` b\n``"]), "a ``` b\n``");
    }

    proptest! {
        #[test]
        fn other_words_stay_as_they_are(words in "[a-z`\n ]{0,60}", cut in 0_usize..60) {
            let at = (0..=cut.min(words.len())).rev().find(|at| words.is_char_boundary(*at)).unwrap();
            let (one, two) = words.split_at(at);
            prop_assert_eq!(told(&[one, two]), words.clone());
        }
    }
}
