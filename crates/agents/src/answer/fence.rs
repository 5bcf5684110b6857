//! Finds the block that an answer is in, among whatever else an agent says.
//!
//! Fences are those of Markdown: three or more backticks or tildes, indented by at most three spaces; closed by as many or more of
//! the same and nothing else. What is inside one is content, whatever it looks like. The last fence that is marked decides.
//!
//! **Invariant:** a mark that is nearly right is a fault and not prose. A question that is overlooked is worse than one that has to
//! be asked again.

use super::MARK;

/// The content of the last marked block, if there is a mark at all; otherwise what is wrong with it.
pub(super) fn last(text: &str) -> Result<Option<String>, String> {
    let mut open: Option<Open<'_>> = None;
    let mut last = None;
    for line in text.lines() {
        let seen = Fence::read(line);
        open = match (open, seen) {
            (None, None) => None,
            (None, Some(fence)) => Some(Open { fence, content: String::new() }),
            (Some(open), Some(fence)) if open.fence.is_closed_by(&fence) => {
                last = open.closed().or(last);
                None
            }
            (Some(mut open), seen) => {
                if seen.is_some_and(|inner| open.fence.swallows(&inner)) {
                    last = Some(Err(SWALLOWED.to_owned()));
                }
                open.content.push_str(line);
                open.content.push('\n');
                Some(open)
            }
        };
    }
    if open.is_some_and(|open| open.fence.is_marked()) {
        return Err(format!("the block marked `{MARK}` is not closed"));
    }
    last.transpose()
}

const SWALLOWED: &str = "the block marked `lamp-answer` is inside another block: close that one first, or take its fence away";

struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

struct Open<'a> {
    fence: Fence<'a>,
    content: String,
}

impl<'a> Fence<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let body = line.trim_start_matches(' ');
        let mark = body.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = body.trim_start_matches(mark);
        let (indent, length) = (line.len() - body.len(), body.len() - info.len());
        let info = info.trim_matches([' ', '\t']);
        // Three backticks with another one behind them are code within a line.
        let within_a_line = mark == '`' && info.contains('`');
        (indent <= 3 && length >= 3 && !within_a_line).then_some(Self { mark, length, info })
    }

    fn is_closed_by(&self, other: &Self) -> bool {
        other.mark == self.mark && other.length >= self.length && other.info.is_empty()
    }

    /// Whether someone meant to mark an answer, rightly or nearly.
    fn is_marked(&self) -> bool {
        self.info.to_ascii_lowercase().contains(MARK)
    }

    /// Whether `inner` was meant as a block of its own and is content only because this one was not closed. Whoever wants to show
    /// an answer as an example takes a longer or another fence around it.
    fn swallows(&self, inner: &Self) -> bool {
        !self.is_marked()
            && inner.is_marked()
            && inner.mark == self.mark
            && inner.length >= self.length
    }
}

impl Open<'_> {
    fn closed(self) -> Option<Result<String, String>> {
        if !self.fence.is_marked() {
            return None;
        }
        if self.fence.info != MARK {
            return Some(Err(format!("the mark of the block must be `{MARK}` and nothing else")));
        }
        Some(Ok(self.content))
    }
}
