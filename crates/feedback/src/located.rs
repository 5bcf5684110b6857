//! Lines that begin with a place: `file:line:column: message`, which most tools of the world print.

use crate::location::{Location, Workspace};

/// A line that begins with a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Located<'a> {
    pub(crate) path: &'a str,
    pub(crate) line: u32,
    pub(crate) column: Option<u32>,
    /// What follows, without white space around it.
    pub(crate) rest: &'a str,
}

impl<'a> Located<'a> {
    /// `path:line: rest` and `path:line:column: rest`. What has spaces in it is no path: it is a sentence with a colon.
    pub(crate) fn new(line: &'a str) -> Option<Self> {
        let (path, after) = path_and_number(line)?;
        let (number, after) = leading_number(after)?;
        let after = after.strip_prefix(':')?;
        let (column, rest) = match leading_number(after) {
            Some((column, after)) => match after.strip_prefix(':') {
                Some(rest) => (Some(column), rest),
                // `a.c:3:4` says nothing, and what follows a number at once is a word: `a.c:3:4x`.
                None => return None,
            },
            None => (None, after),
        };
        let rest = rest.trim();
        (!rest.is_empty()).then_some(Self { path, line: number, column, rest })
    }

    pub(crate) fn place(&self, workspace: &Workspace) -> Location {
        workspace.place(self.path, Some(self.line), self.column)
    }

    /// Whether the file's name ends with one of these.
    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        extension(self.path).is_some_and(|found| extensions.contains(&found))
    }
}

/// `path:line` and `path:line:column`, and nothing else, as tools say where something is.
pub(crate) fn place(text: &str, workspace: &Workspace) -> Location {
    let (path, line, column) = split(text);
    workspace.place(path, line, column)
}

/// The path, line and column of `path:line:column`.
pub(crate) fn split(text: &str) -> (&str, Option<u32>, Option<u32>) {
    let text = text.trim();
    let last =
        text.rsplit_once(':').and_then(|(before, number)| Some((before, number.parse().ok()?)));
    let Some((before, last)) = last else { return (text, None, None) };
    match before.rsplit_once(':').and_then(|(path, number)| Some((path, number.parse().ok()?))) {
        Some((path, line)) if !path.is_empty() => (path, Some(line), Some(last)),
        Some(_) | None => (before, Some(last), None),
    }
}

/// What follows the last dot of the file's name.
pub(crate) fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.rsplit_once('.').map(|(_, extension)| extension).filter(|found| !found.is_empty())
}

/// The path before the first `:` that a digit follows, and what follows that `:`.
fn path_and_number(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("file://").unwrap_or(line);
    let colon = line
        .bytes()
        .zip(line.bytes().skip(1))
        .position(|pair| pair.0 == b':' && pair.1.is_ascii_digit())?;
    let (path, after) = (line.get(..colon)?, line.get(colon + 1..)?);
    let sentence = |character: char| character.is_whitespace() || "()<>\"'`,;=".contains(character);
    let named = path.contains('/') || extension(path).is_some();
    (named && !path.is_empty() && !path.contains(sentence) && !path.contains("://"))
        .then_some((path, after))
}

/// The number that the text begins with, and what follows it.
pub(crate) fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let number = text.get(..end)?.parse().ok()?;
    Some((number, text.get(end..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_and_what_is_said_about_it_are_told_apart() {
        let found = Located::new("src/a.c:2:25: warning: odd").unwrap();
        assert_eq!(
            (found.path, found.line, found.column, found.rest),
            ("src/a.c", 2, Some(25), "warning: odd")
        );
        let found = Located::new("mod.py:3: error: no").unwrap();
        assert_eq!((found.line, found.column, found.rest), (3, None, "error: no"));
    }

    #[test]
    fn sentences_times_and_addresses_are_no_places() {
        for line in [
            "at 12:30: lunch",
            "12:30:00: lunch",
            "http://example.com:80: refused",
            "connect to example:5432: refused",
            "a.c:99999999999: too large",
            "a.c:3:",
            "",
        ] {
            assert_eq!(Located::new(line), None, "{line}");
        }
    }

    #[test]
    fn a_place_alone_is_split_from_its_end() {
        assert_eq!(split("a.js:2:62"), ("a.js", Some(2), Some(62)));
        assert_eq!(split("a.js:2"), ("a.js", Some(2), None));
        assert_eq!(split("node:internal"), ("node:internal", None, None));
    }
}
