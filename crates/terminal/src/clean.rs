//! Output of programs that nobody trusts, made harmless for a terminal (abuse case 64).
//!
//! A terminal obeys what it is sent: it can be told to change its title, fill the clipboard, or answer as if the
//! person had typed. So every control character is shown as its picture (`␛`), and everything that is not UTF-8 as
//! `�`. Line feeds, tabs and carriage returns stay. Nothing is held back but an unfinished character.

use domain::visible::is_visible;

use crate::colors::Stream;

/// The longest character that UTF-8 knows.
const LONGEST: usize = 4;

#[derive(Debug)]
pub enum Cleaner {
    /// Into a pipe or a file, bytes go as they are.
    Off,
    /// The beginning of a character whose rest has not come yet.
    On(Vec<u8>),
}

impl Cleaner {
    pub fn of(stream: Stream) -> Self {
        match stream {
            Stream::Terminal => Self::On(Vec::new()),
            Stream::Elsewhere => Self::Off,
        }
    }

    pub fn clean<'b>(&mut self, bytes: &'b [u8]) -> std::borrow::Cow<'b, [u8]> {
        let Self::On(begun) = self else { return bytes.into() };
        begun.extend_from_slice(bytes);
        let mut cleaned = String::with_capacity(begun.len());
        let mut rest = begun.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    cleaned.extend(text.chars().map(harmless));
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    let good = std::str::from_utf8(good).unwrap_or_default();
                    cleaned.extend(good.chars().map(harmless));
                    let Some(wrong) = error.error_len() else {
                        rest = bad;
                        break;
                    };
                    cleaned.push(char::REPLACEMENT_CHARACTER);
                    rest = bad.get(wrong..).unwrap_or_default();
                }
            }
        }
        let left = rest.to_vec();
        debug_assert!(left.len() < LONGEST);
        *begun = left;
        cleaned.into_bytes().into()
    }

    /// What is left of a character that never came to its end.
    pub fn end(&mut self) -> Vec<u8> {
        match self {
            Self::On(begun) if !begun.is_empty() => {
                begun.clear();
                char::REPLACEMENT_CHARACTER.to_string().into_bytes()
            }
            Self::On(_) | Self::Off => Vec::new(),
        }
    }
}

fn harmless(character: char) -> char {
    match character {
        '\n' | '\t' | '\r' => character,
        '\u{0}'..='\u{1f}' => {
            char::from_u32(0x2400 + u32::from(character)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\u{7f}' => '\u{2421}',
        // The other control characters, those that turn the direction of writing, and those that nobody sees.
        other if !is_visible(other) => char::REPLACEMENT_CHARACTER,
        harmless => harmless,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(chunks: &[&[u8]]) -> String {
        let mut cleaner = Cleaner::of(Stream::Terminal);
        let mut all = Vec::new();
        for chunk in chunks {
            all.extend_from_slice(&cleaner.clean(chunk));
        }
        all.extend(cleaner.end());
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn text_stays_as_it_is() {
        let text = "plain, tab\t, line\nand Grüße 🦊\r\n";
        assert_eq!(shown(&[text.as_bytes()]), text);
        // Also when it comes byte by byte.
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(shown(&bytes), text);
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        let table: [(&[u8], &str); 8] = [
            (b"\x1b]0;title\x07", "␛]0;title␇"),
            (b"\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
            (b"\x1b[2J\x1b[6n", "␛[2J␛[6n"),
            (b"\xc2\x9b31m", "�31m"),
            (b"\x9b31m", "�31m"),
            (b"a\0b\x08\x7f", "a␀b␈␡"),
            ("\u{202e}e\u{200b}vil".as_bytes(), "�e�vil"),
            (b"half \xe2\x82", "half �"),
        ];
        for (sent, expected) in table {
            assert_eq!(shown(&[sent]), expected);
        }
        assert_eq!(shown(&[b"\x1b", b"]0;x", b"\xf0\x9f", b"\xa6\x8a"]), "␛]0;x🦊");
    }

    #[test]
    fn a_pipe_gets_every_byte() {
        let mut cleaner = Cleaner::of(Stream::Elsewhere);
        assert_eq!(&*cleaner.clean(b"\x1b[31m\xff"), b"\x1b[31m\xff");
    }
}
