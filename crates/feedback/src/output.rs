//! What a program printed, as text that parsers can look at.
//!
//! Bytes beyond the limit are cut out of the middle, whole lines at a time: the beginning names what was run, the end says how it ended.
//! Colours and other commands to a terminal are removed, line ends are `\n`, many empty lines are two, and what is no UTF-8 is
//! replaced.

use std::borrow::Cow;

use crate::limits::DETAILS_BYTES;

/// The most that is looked at of each stream: half from its beginning, half from its end.
pub const STREAM_BYTES: usize = 8 << 20;
/// The most that is looked at of one line, except where a line is a whole document.
const LINE_BYTES: usize = 8 << 10;
/// The longest command to a terminal. An unfinished one must not swallow what follows.
const COMMAND_BYTES: usize = 256;

const ESCAPE: u8 = 0x1b;

/// A stream, cleaned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Output {
    pub(crate) text: String,
    /// Bytes that nobody looked at.
    pub(crate) overlooked: u64,
}

impl Output {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let (head, tail) = ends(bytes);
        let mut cleaned = Vec::with_capacity(head.len() + tail.len());
        clean(head, &mut cleaned);
        if !tail.is_empty() {
            cleaned.push(b'\n');
            clean(tail, &mut cleaned);
        }
        let overlooked = bytes.len() - head.len() - tail.len();
        Self {
            text: String::from_utf8_lossy(&cleaned).into_owned(),
            overlooked: u64::try_from(overlooked).unwrap_or(u64::MAX),
        }
    }
}

/// Text that somebody put into JSON or XML, without commands to a terminal.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(char::from(ESCAPE)) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = Vec::with_capacity(text.len());
    clean(text.as_bytes(), &mut cleaned);
    Cow::Owned(String::from_utf8_lossy(&cleaned).into_owned())
}

/// The lines of a text, each cut to what a line of a tool can be.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| start(line, LINE_BYTES))
}

/// At most so many bytes of the beginning.
pub(crate) fn start(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Lines that belong together, up to what details may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered(String);

impl Gathered {
    pub(crate) fn line(&mut self, line: &str) {
        if self.0.len() < DETAILS_BYTES + 1 {
            self.0.push_str(line);
            self.0.push('\n');
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.trim_end()
    }
}

/// The beginning and the end that are looked at, without lines that were cut in two.
fn ends(bytes: &[u8]) -> (&[u8], &[u8]) {
    if bytes.len() <= STREAM_BYTES {
        return (bytes, &[]);
    }
    let half = STREAM_BYTES / 2;
    let head = bytes.get(..half).unwrap_or_default();
    let tail = bytes.get(bytes.len() - half..).unwrap_or_default();
    let end = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    let begin = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    (head.get(..end).unwrap_or_default(), tail.get(begin..).unwrap_or_default())
}

fn clean(bytes: &[u8], cleaned: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = match (*byte, after) {
            (ESCAPE, after) => skip_command(after),
            // A progress bar writes over its own line; what it wrote before is a line too.
            (b'\r', [b'\n', ..]) => after,
            (b'\r', after) => {
                cleaned.push(b'\n');
                after
            }
            // Written again over what was there, as `man` does it for bold letters.
            (0x08, after) => {
                if cleaned.last().is_some_and(|last| *last != b'\n') {
                    cleaned.pop();
                }
                after
            }
            // Empty lines are not read one by one, millions of times.
            (b'\n', after) => {
                if !cleaned.ends_with(b"\n\n\n") {
                    cleaned.push(b'\n');
                }
                after
            }
            (byte, after) => {
                cleaned.push(byte);
                after
            }
        };
    }
}

/// What follows the command to a terminal that was begun.
fn skip_command(bytes: &[u8]) -> &[u8] {
    let end = match bytes {
        [b'[', rest @ ..] => {
            let last =
                rest.iter().take(COMMAND_BYTES).position(|byte| !(0x20..=0x3f).contains(byte));
            last.map_or(1, |at| at + 2)
        }
        // Titles and links: until a bell or `ESC \`, on the same line.
        [b']' | b'P' | b'_' | b'^', rest @ ..] => {
            let last = rest
                .iter()
                .take(COMMAND_BYTES * 8)
                .position(|byte| [0x07, ESCAPE, b'\n'].contains(byte));
            match last.and_then(|at| rest.get(at).map(|byte| (at, *byte))) {
                Some((at, b'\n')) => at + 1,
                Some((at, ESCAPE)) => at + 3,
                Some((at, _)) => at + 2,
                None => 1,
            }
        }
        [b'(' | b')' | b'#' | b'%', _, ..] => 2,
        [byte, ..] if byte.is_ascii_graphic() => 1,
        _ => 0,
    };
    bytes.get(end..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cleaned(bytes: &[u8]) -> String {
        Output::new(bytes).text
    }

    #[test]
    fn colours_titles_and_links_are_removed() {
        assert_eq!(cleaned(b"\x1b[31m\x1b[1mred\x1b[22m\x1b[39m"), "red");
        assert_eq!(cleaned(b"\x1b]0;title\x07text"), "text");
        assert_eq!(cleaned(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ end"), "link end");
        assert_eq!(cleaned(b"\x1b[2K\x1b(Bdone"), "done");
    }

    #[test]
    fn an_unfinished_command_does_not_swallow_the_lines_after_it() {
        assert_eq!(cleaned(b"\x1b]0;never ends\nerror: here"), "\nerror: here");
        assert!(
            cleaned(&[b"\x1b[".as_slice(), &[b'1'; 1000], b"\nerror: here"].concat())
                .ends_with("\nerror: here")
        );
    }

    #[test]
    fn line_ends_are_ours_and_bytes_that_are_no_text_are_replaced() {
        assert_eq!(cleaned(b"a\r\nb\rc\xff"), "a\nb\nc\u{fffd}");
        assert_eq!(cleaned(b"a\n\n\n\n\n\n\nb"), "a\n\n\nb");
    }

    #[test]
    fn of_too_much_the_beginning_and_the_end_are_kept_in_whole_lines() {
        let mut bytes = b"first\n".to_vec();
        while bytes.len() < STREAM_BYTES + 1000 {
            bytes.extend_from_slice(b"a line in the middle\n");
        }
        bytes.extend_from_slice(b"last\n");
        let output = Output::new(&bytes);
        assert!(output.text.starts_with("first\n") && output.text.ends_with("\nlast\n"));
        assert!(
            output
                .text
                .lines()
                .all(|line| ["first", "last", "", "a line in the middle"].contains(&line))
        );
        let looked_at = output.text.len() as u64 - 1;
        assert_eq!(output.overlooked + looked_at, bytes.len() as u64);
    }

    proptest! {
        #[test]
        fn no_command_to_a_terminal_survives(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let escape = char::from(ESCAPE);
            prop_assert!(!cleaned(&bytes).contains(escape));
        }
    }
}
