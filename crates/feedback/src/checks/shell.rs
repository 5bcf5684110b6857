//! Reads scripts as far as they are simple.
//!
//! A line of words, perhaps several joined by `&&`, is understood. Everything else that a shell can do (pipes, loops, substitutions,
//! variables) is not guessed at: what such a line does, and whether its exit code means anything, only running it would tell.

/// A script of more lines is a program, not a check.
const LINES_LIMIT: usize = 200;
const LINE_LIMIT: usize = 2_000;

/// The lines of a script, with continued ones joined; nothing where a line is part of a loop, a condition or a text.
pub(super) fn lines(script: &str) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    let mut open = String::new();
    for line in script.lines() {
        let line = line.trim();
        if open.is_empty() && (line.is_empty() || line.starts_with('#')) {
            continue;
        }
        if open.len() + line.len() > LINE_LIMIT || lines.len() == LINES_LIMIT {
            return None;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            open.push_str(begun.trim_end());
            open.push(' ');
            continue;
        }
        open.push_str(line);
        lines.push(std::mem::take(&mut open));
    }
    if !open.trim().is_empty() {
        lines.push(open.trim().to_owned());
    }
    lines.iter().all(|line| is_plain(line)).then_some(lines)
}

fn is_plain(line: &str) -> bool {
    const COMPOUND: &[&str] = &[
        "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
        "function", "{", "}", "(", ")",
    ];
    let first = line.split([' ', ';']).next().unwrap_or_default();
    !COMPOUND.contains(&first)
        && !line.contains("<<")
        && !line.contains("() {")
        && !line.contains("(){")
}

/// One command of a line, as it stands there and as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) words: Vec<String>,
}

/// One line as commands that run one after the other while each succeeds; nothing when it is more than that.
pub(super) fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    Some(parts(line)?.into_iter().map(|part| part.words).collect())
}

/// The same, with the text of each.
pub(super) fn parts(line: &str) -> Option<Vec<Part>> {
    if line.len() > LINE_LIMIT || line.chars().any(|c| c.is_control() && c != '\t') {
        return None;
    }
    let mut all = Vec::new();
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut text = String::new();
    let mut rest = line.chars().peekable();
    let whole = |words: Vec<String>, text: &str| Part {
        text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        words,
    };
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '#' if word.is_none() => break,
            '&' if rest.next_if_eq(&'&').is_some() => {
                words.extend(word.take());
                if words.is_empty() {
                    return None;
                }
                all.push(whole(std::mem::take(&mut words), &std::mem::take(&mut text)));
                continue;
            }
            '&' | '|' | ';' | '<' | '>' | '(' | ')' | '`' | '$' => return None,
            '\\' => {
                let next = rest.next()?;
                word.get_or_insert_default().push(next);
                text.extend(['\\', next]);
                continue;
            }
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                text.push(c);
                loop {
                    let next = rest.next()?;
                    text.push(next);
                    match next {
                        end if end == c => break,
                        '`' | '$' if c == '"' => return None,
                        '\\' if c == '"' => {
                            let next = rest.next()?;
                            text.push(next);
                            word.push(next);
                        }
                        inside => word.push(inside),
                    }
                }
                continue;
            }
            c => word.get_or_insert_default().push(c),
        }
        text.push(c);
    }
    words.extend(word);
    if !words.is_empty() {
        all.push(whole(words, &text));
    }
    (!all.is_empty()).then_some(all)
}

/// `NAME=value` before a command.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
