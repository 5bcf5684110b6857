//! Where a program works, as its own prompt says.

/// Words that come shortly before the directory, in lower case. More certain ones are first.
const BEFORE: [&str; 7] = [
    "<cwd>",
    "primary working directory",
    "current working directory",
    "working directory",
    "working in the directory",
    "workspace director",
    "project root",
];

/// So far behind the words may the path begin.
const NEAR: usize = 60;

/// The directory that a text names.
pub(super) fn told(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    BEFORE.iter().find_map(|words| {
        lower.match_indices(words).find_map(|(at, _)| path(text.get(at + words.len()..)?))
    })
}

/// The first absolute path, if it begins near enough and in a place of its own.
fn path(after: &str) -> Option<String> {
    let begin = after.char_indices().take(NEAR).find_map(|(at, letter)| {
        let before = after.get(..at)?.chars().next_back();
        let apart =
            before.is_none_or(|before| before.is_whitespace() || "`\"'>(=:".contains(before));
        (letter == '/' && apart).then_some(at)
    })?;
    let rest = after.get(begin..)?;
    let ends = |letter: char| letter.is_whitespace() || "`\"'<>,()".contains(letter);
    let path = rest.split(ends).next()?.trim_end_matches(['.', '/']);
    (!path.is_empty()).then(|| path.to_owned())
}
