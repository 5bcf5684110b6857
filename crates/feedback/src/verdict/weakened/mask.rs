//! Blanks strings and comments, byte for byte, so that what is left is code and every offset stays what it was.

use super::languages::Language;

/// The text with spaces where strings and comments were. Line ends stay; quotes stay, so that it can be seen where a string was.
pub(super) fn mask(text: &str, language: Language) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    let mut before = Before { code: b';', byte: b'\n' };
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let token = comment(rest, language).or_else(|| string(rest, language, before));
        let (start, end) = match token {
            Some(Token::Comment(length)) => (at, at + length),
            Some(Token::String { open, length, close }) => {
                before = Before { code: b'"', byte: b'"' };
                (at + open, (at + length).saturating_sub(close))
            }
            None => {
                before.byte = byte;
                if !byte.is_ascii_whitespace() {
                    before.code = byte;
                }
                at += 1;
                continue;
            }
        };
        let blanked = masked.get_mut(start..end).unwrap_or_default();
        blanked.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at = match token {
            Some(Token::Comment(length) | Token::String { length, .. }) => at + length.max(1),
            None => at + 1,
        };
    }
    masked
}

/// What stands before a token.
#[derive(Clone, Copy)]
struct Before {
    /// The last byte of code that is no space, to tell a regular expression from a division.
    code: u8,
    byte: u8,
}

#[derive(Clone, Copy)]
enum Token {
    Comment(usize),
    /// With the lengths of what opens and closes it, which stay.
    String {
        open: usize,
        length: usize,
        close: usize,
    },
}

fn comment(rest: &[u8], language: Language) -> Option<Token> {
    let line = match language {
        Language::Python => b"#".as_slice(),
        Language::Rust | Language::JavaScript | Language::Go | Language::Java => b"//",
    };
    if rest.starts_with(line) {
        return Some(Token::Comment(
            rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        ));
    }
    if language == Language::Python || !rest.starts_with(b"/*") {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = rest.get(at..).unwrap_or_default();
        if here.starts_with(b"/*") && (depth == 0 || language == Language::Rust) {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(Token::Comment(at));
            }
        } else {
            at += 1;
        }
    }
    Some(Token::Comment(rest.len()))
}

fn string(rest: &[u8], language: Language, before: Before) -> Option<Token> {
    use Language::{Go, Java, JavaScript, Python, Rust};
    let first = *rest.first()?;
    match (language, first) {
        (Python, b'"' | b'\'') | (Java, b'"') if is_triple(rest, first) => {
            Some(quoted(rest, 3, first, Lines::Many))
        }
        (Rust, b'r') if !is_word(before.byte) || b"bc".contains(&before.byte) => raw(rest),
        (Rust, b'"') | (JavaScript, b'`') => Some(quoted(rest, 1, first, Lines::Many)),
        (Rust, b'\'') => character(rest),
        (Go, b'`') => {
            let end =
                rest.iter().skip(1).position(|byte| *byte == b'`').map_or(rest.len(), |at| at + 2);
            Some(Token::String { open: 1, length: end, close: usize::from(end < rest.len()) })
        }
        (JavaScript, b'/') if b"(,=:[!&|?{};+\n>".contains(&before.code) => Some(pattern(rest)),
        (JavaScript | Python | Go | Java, b'"' | b'\'') => Some(quoted(rest, 1, first, Lines::One)),
        (Rust | Go | JavaScript | Python | Java, _) => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    One,
    Many,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_triple(rest: &[u8], quote: u8) -> bool {
    rest.get(..3) == Some(&[quote; 3])
}

/// Up to the same quotes again, if no backslash stands before them.
fn quoted(rest: &[u8], quotes: usize, quote: u8, lines: Lines) -> Token {
    let mut at = quotes;
    while let Some(&byte) = rest.get(at) {
        if byte == b'\\' {
            at += 2;
        } else if byte == b'\n' && lines == Lines::One {
            // Somebody forgot the quotes, or it is not a string after all. The next line begins anew.
            return Token::String { open: quotes, length: at, close: 0 };
        } else if byte == quote
            && (quotes == 1 || rest.get(at..).is_some_and(|rest| is_triple(rest, quote)))
        {
            return Token::String { open: quotes, length: at + quotes, close: quotes };
        } else {
            at += 1;
        }
    }
    Token::String { open: quotes, length: rest.len(), close: 0 }
}

/// `r#"…"#`.
fn raw(rest: &[u8]) -> Option<Token> {
    let hashes = rest.iter().skip(1).take_while(|byte| **byte == b'#').count();
    let open = hashes + 2;
    if rest.get(open - 1) != Some(&b'"') || hashes > 16 {
        return None;
    }
    let ends = |at: &usize| {
        rest.get(*at) == Some(&b'"')
            && rest.iter().skip(at + 1).take(hashes).filter(|byte| **byte == b'#').count() == hashes
    };
    let end = (open..rest.len()).find(ends);
    Some(match end {
        Some(at) => Token::String { open, length: at + 1 + hashes, close: hashes + 1 },
        None => Token::String { open, length: rest.len(), close: 0 },
    })
}

/// `'x'` or `'\n'`; a lifetime is code.
fn character(rest: &[u8]) -> Option<Token> {
    if rest.get(1) == Some(&b'\\') {
        let end = rest.iter().take(16).skip(3).position(|byte| *byte == b'\'')? + 4;
        return Some(Token::String { open: 1, length: end, close: 1 });
    }
    // A character has at most four bytes.
    let end = rest.iter().take(6).skip(2).position(|byte| *byte == b'\'')? + 3;
    let is_one =
        std::str::from_utf8(rest.get(1..end - 1)?).is_ok_and(|text| text.chars().count() == 1);
    is_one.then_some(Token::String { open: 1, length: end, close: 1 })
}

/// No expression is longer.
const PATTERN_BYTES: usize = 500;

/// `/…/`, on one line. A slash in a class, as in `/[/]/`, ends it too early. That is rare, and to look for the end of the class would mean
/// to read a line of slashes again for each of them.
fn pattern(rest: &[u8]) -> Token {
    let mut at = 1;
    while let Some(&byte) = rest.get(at).filter(|_| at < PATTERN_BYTES) {
        match byte {
            b'\n' => break,
            b'\\' => at += 2,
            b'/' => return Token::String { open: 1, length: at + 1, close: 1 },
            _ => at += 1,
        }
    }
    // A division after all.
    Token::String { open: 1, length: 1, close: 0 }
}
