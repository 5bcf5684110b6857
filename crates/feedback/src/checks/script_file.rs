//! Shell scripts of a repository that CI calls, read one level deep and never run.
//!
//! Only what stands at the outermost level counts: what is inside of conditions, loops and functions may not happen. Arguments that the
//! caller gave and variables with a plain value are put in; a line that needs any other variable is not understood later, because it
//! still has its `$`.

use std::collections::BTreeMap;

const LINES_LIMIT: usize = 600;
const SIZE_LIMIT: usize = 64 * 1024;
const VARIABLES_LIMIT: usize = 100;
const VALUE_LIMIT: usize = 200;

/// What a script does at its outermost level.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScriptFile {
    /// Line numbers, and lines.
    pub(super) lines: Vec<(usize, String)>,
    pub(super) setting: Setting,
}

/// Whether the script sets something up for its commands, so that they mean little without it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    #[default]
    None,
    Some,
}

pub(super) fn read(text: &str, arguments: &[String]) -> Option<ScriptFile> {
    if text.len() > SIZE_LIMIT || text.lines().count() > LINES_LIMIT {
        return None;
    }
    let mut variables: BTreeMap<String, String> = (1..)
        .zip(arguments)
        .map(|(number, argument): (usize, &String)| (number.to_string(), argument.clone()))
        .collect();
    variables.insert("@".to_owned(), arguments.join(" "));
    variables.insert("*".to_owned(), arguments.join(" "));
    let mut script = ScriptFile::default();
    let mut depth = 0_usize;
    let mut until: Option<String> = None;
    let mut open = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(end) = &until {
            if line == end {
                until = None;
            }
            continue;
        }
        if open.is_empty() && (line.is_empty() || line.starts_with('#')) {
            continue;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            open.push_str(begun);
            continue;
        }
        let line = std::mem::take(&mut open) + line;
        until = heredoc(&line);
        let before = depth;
        depth = nested(&line, depth);
        if before > 0 || depth > 0 || is_compound(&line) {
            continue;
        }
        let line = filled(&line, &variables);
        if let Some((name, value)) = assigned(&line) {
            if variables.len() < VARIABLES_LIMIT {
                variables.insert(name.to_owned(), value.to_owned());
            }
            continue;
        }
        if ["export ", "source ", ". "].iter().any(|word| line.starts_with(word)) {
            script.setting = Setting::Some;
            continue;
        }
        script.lines.push((number, line));
    }
    Some(script)
}

/// `cat <<EOF` goes on to a line `EOF`.
fn heredoc(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("<<")?;
    let word = rest.trim_start_matches(['-', ' ', '<']).split_whitespace().next()?;
    Some(word.trim_matches(['\'', '"']).to_owned())
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '\t', ';']).filter(|word| !word.is_empty())
}

/// How deep it is after a line.
fn nested(line: &str, depth: usize) -> usize {
    let mut depth = depth;
    for word in words(line) {
        match word {
            "if" | "for" | "while" | "until" | "case" | "select" | "{" => depth += 1,
            "fi" | "done" | "esac" | "}" => depth = depth.saturating_sub(1),
            _ if word.ends_with("(){") => depth += 1,
            _ => {}
        }
    }
    depth
}

fn is_compound(line: &str) -> bool {
    let is_one = |word: &str| {
        matches!(
            word,
            "if" | "for" | "while" | "until" | "case" | "function" | "fi" | "done" | "esac" | "}"
        )
    };
    words(line).next().is_some_and(is_one) || line.contains("()")
}

/// `name="value"` alone on a line.
fn assigned(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let value = quoted.unwrap_or(value);
    let is_word = quoted.is_some() || !value.contains(' ');
    let is_plain = value.len() <= VALUE_LIMIT && !value.contains(['"', '\'', '`', '(', '$']);
    (is_name && is_word && is_plain).then_some((name, value))
}

/// Puts in what is known: `$1`, `${1:-test}`, `"${cmd}"`.
fn filled(line: &str, variables: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let (name, default, left) = if let Some(inner) = after.strip_prefix('{') {
            let Some((inside, left)) = inner.split_once('}') else { break };
            let (name, default) = inside
                .split_once(":-")
                .map_or((inside, None), |(name, default)| (name, Some(default)));
            (name, default, left)
        } else {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = match after.chars().next() {
                Some(first) if first.is_ascii_digit() || first == '@' || first == '*' => 1,
                _ => after.find(|c| !is_part(c)).unwrap_or(after.len()),
            };
            (after.get(..end).unwrap_or_default(), None, after.get(end..).unwrap_or_default())
        };
        // A script that is given nothing has nothing in its own arguments.
        let own = name.starts_with(|c: char| c.is_ascii_digit()).then_some("");
        let value = variables.get(name).map(String::as_str).or(default).or(own);
        let Some(value) = value else {
            text.push('$');
            rest = after;
            continue;
        };
        text.push_str(value);
        rest = left;
    }
    text.push_str(rest);
    text
}
