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

/// One line as commands that run one after the other while each succeeds; nothing when it is more than that.
pub(super) fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    if line.len() > LINE_LIMIT || line.chars().any(|c| c.is_control() && c != '\t') {
        return None;
    }
    let mut all = Vec::new();
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '#' if word.is_none() => break,
            '&' if rest.next_if_eq(&'&').is_some() => {
                words.extend(word.take());
                if words.is_empty() {
                    return None;
                }
                all.push(std::mem::take(&mut words));
            }
            '&' | '|' | ';' | '<' | '>' | '(' | ')' | '`' | '$' => return None,
            '\\' => word.get_or_insert_default().push(rest.next()?),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        end if end == c => break,
                        '`' | '$' if c == '"' => return None,
                        '\\' if c == '"' => word.push(rest.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if !words.is_empty() {
        all.push(words);
    }
    (!all.is_empty()).then_some(all)
}
