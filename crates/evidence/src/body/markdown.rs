//! Other people's words inside our Markdown, so that they stay words.
//!
//! Three ways to put a text: [`inline`] in a line of ours, [`quote`] as a paragraph that is marked as somebody else's, [`fenced`] as it is, letter by
//! letter. None of them can hold what our block is known by.
//!
//! Forges look for mentions and issues in what was rendered, so a backslash does not keep `@name` from calling somebody; a break that takes no
//! room (`&#8203;`) does, and can be seen by whoever reads the source.

use super::block::unmarked;
use crate::visible::{line, visible};

const BREAK: &str = "&#8203;";

/// `text` as a part of one line, also in a table. At most `limit` bytes.
pub(super) fn inline(text: &str, limit: usize) -> String {
    // Escapes make it longer, never shorter: what does not fit now will not fit then.
    let text = line(text, limit.saturating_add(1));
    escaped_within(&unmarked(text), limit)
}

/// `text` as a quotation of several lines. At most about `limit` bytes, and a sentence where there was more.
pub(super) fn quote(text: &str, limit: usize) -> String {
    let text = unmarked(visible(text));
    let text = text.trim_matches('\n');
    let mut out = String::new();
    for piece in text.lines() {
        let room = limit.saturating_sub(out.len() + "> ".len() + 1);
        let words = escaped_within(piece, room);
        out.push_str(format!("> {words}").trim_end());
        out.push('\n');
        if words != escaped(piece).concat() {
            let length = text.len();
            return format!("{out}>\n> *Cut here: the whole text has {length} bytes.*");
        }
    }
    out.trim_end().to_owned()
}

/// Which part of a text is kept when there is no room for all of it.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    Beginning,
    End,
}

/// `text` in a fence that is longer than any like it in the text, so that nothing inside closes it. At most about `limit` bytes.
pub(super) fn fenced(text: &str, limit: usize, keep: Keep) -> String {
    // Nothing inside may look like our block to a program that reads the source.
    let text = unmarked(visible(text));
    let text = text.trim_matches('\n');
    let text = shortened(text, limit, keep);
    let (ticks, tildes) = (longest_run(&text, '`'), longest_run(&text, '~'));
    let (mark, run) = if ticks <= tildes { ("`", ticks) } else { ("~", tildes) };
    let fence = mark.repeat(run.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

fn shortened(text: &str, limit: usize, keep: Keep) -> String {
    let Some(more) = text.len().checked_sub(limit).filter(|more| *more > 0) else {
        return text.to_owned();
    };
    let note = format!("[… {more} bytes left off …]");
    match keep {
        Keep::Beginning => {
            let end = text.floor_char_boundary(limit);
            format!("{}\n{note}", text.get(..end).unwrap_or_default())
        }
        Keep::End => {
            let start = text.ceil_char_boundary(more);
            format!("{note}\n{}", text.get(start..).unwrap_or_default())
        }
    }
}

fn longest_run(text: &str, mark: char) -> usize {
    text.split(|letter| letter != mark).map(str::len).max().unwrap_or_default()
}

/// One line, with everything escaped that Markdown or a forge would act on. At most `limit` bytes, and never half an escape.
fn escaped_within(line: &str, limit: usize) -> String {
    let whole = escaped(line);
    let length: usize = whole.iter().map(String::len).sum();
    if length <= limit {
        return whole.concat();
    }
    let room = limit.saturating_sub("…".len());
    let mut out = String::new();
    for piece in &whole {
        if out.len() + piece.len() > room {
            break;
        }
        out.push_str(piece);
    }
    out + "…"
}

/// A piece for each letter.
fn escaped(line: &str) -> Vec<String> {
    // What is indented would be code.
    let letters: Vec<char> = line.trim().chars().collect();
    let digits = letters.iter().take_while(|letter| letter.is_ascii_digit()).count();
    let pieces = letters.iter().enumerate().map(|(at, letter)| {
        let before = letters.get(at.saturating_sub(3)..at).unwrap_or_default();
        let next = letters.get(at + 1).copied().unwrap_or(' ');
        let opens_a_list = digits > 0 && at == digits && next == ' ';
        piece(*letter, &Place { is_first: at == 0, opens_a_list, before, next })
    });
    pieces.collect()
}

/// Where in its line a letter stands.
struct Place<'a> {
    is_first: bool,
    /// After the digits that the line begins with, and before a space.
    opens_a_list: bool,
    before: &'a [char],
    next: char,
}

fn piece(letter: char, place: &Place<'_>) -> String {
    let Place { is_first, opens_a_list, before, next } = *place;
    match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        // Inside a table a backslash is not enough, and some forges read formulas before Markdown.
        '|' => "&#124;".to_owned(),
        '$' => "&#36;".to_owned(),
        '@' => format!("@{BREAK}"),
        '#' | '!' if next.is_alphanumeric() => format!("\\{letter}{BREAK}"),
        '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '!' | '^' => format!("\\{letter}"),
        // Lists, underlined headings, tables.
        '-' | '+' | '=' | ':' if is_first => format!("\\{letter}{}", after_colon(letter, next)),
        '.' | ')' if opens_a_list => format!("\\{letter}"),
        // Addresses stay text.
        ':' => format!(":{}", after_colon(letter, next)),
        '.' if before.iter().all(|it| it.eq_ignore_ascii_case(&'w')) && before.len() == 3 => {
            format!("{BREAK}.")
        }
        // `GH-7` is an issue.
        '-' if next.is_ascii_digit() && ends_with_gh(before) => format!("-{BREAK}"),
        '\t' => " ".to_owned(),
        other => other.to_string(),
    }
}

fn after_colon(letter: char, next: char) -> &'static str {
    if letter == ':' && next == '/' { BREAK } else { "" }
}

fn ends_with_gh(before: &[char]) -> bool {
    matches!(before, [.., 'g' | 'G', 'h' | 'H'])
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "rendered_tests.rs"]
mod rendered_tests;
