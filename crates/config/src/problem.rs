//! What is wrong with a file: where, what, and what to do about it.
//!
//! Readers do not stop at the first problem. They report to [`Problems`] and go
//! on, so that a person fixes a file in one go.

use std::fmt;

use serde_json::{Value, json};

use crate::secret;

/// Every problem in one file, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct InvalidFile {
    pub problems: Vec<Problem>,
}

/// One thing to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// Lines begin at 1.
    pub line: usize,
    /// Columns begin at 1 and count characters.
    pub column: usize,
    pub what: String,
    pub help: String,
}

/// A place in a file, as in [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Place {
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

impl Problem {
    /// The fields by name, for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "what": self.what,
            "help": self.help,
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, what, help } = self;
        write!(f, "{file}:{line}:{column}: {what}\n  help: {help}")
    }
}

impl fmt::Display for InvalidFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problems.iter().try_for_each(|problem| writeln!(f, "{problem}"))
    }
}

/// More than this many problems say nothing more than that this is another file.
const TOLD_AT_MOST: usize = 100;

/// After this many, readers stop looking: a hostile file must not cost minutes.
const SOUGHT_AT_MOST: usize = 1000;

/// Collects problems while a file is read, and knows which key is being read.
#[derive(Debug)]
pub(crate) struct Problems {
    file: String,
    path: Vec<String>,
    found: Vec<Problem>,
}

impl Problems {
    pub(crate) fn in_file(file: &str) -> Self {
        Self { file: file.to_owned(), path: Vec::new(), found: Vec::new() }
    }

    pub(crate) fn report(
        &mut self,
        place: Place,
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        let Place { line, column } = place;
        let (what, help) = (what.into(), help.into());
        self.found.push(Problem { file: self.file.clone(), line, column, what, help });
    }

    /// Reads something below `key`, so that its problems can name the whole path.
    pub(crate) fn below<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let read = read(self);
        self.path.pop();
        read
    }

    /// The key that is being read: `` `sandbox.compute.cpu` ``.
    pub(crate) fn key(&self) -> String {
        let [first, rest @ ..] = self.path.as_slice() else { return "the file".to_owned() };
        let written = |part: &String| match part.parse::<usize>() {
            Ok(index) => format!("[{index}]"),
            Err(_key) => format!(".{part}"),
        };
        let rest = rest.iter().map(written).collect::<Vec<_>>().concat();
        format!("`{first}{rest}`")
    }

    /// Whether enough has been found to stop looking.
    pub(crate) fn are_many(&self) -> bool {
        self.found.len() >= SOUGHT_AT_MOST
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The problems, or what was read if there are none.
    pub(crate) fn settle<T>(self, read: Option<T>) -> Result<T, InvalidFile> {
        match read {
            Some(read) if self.found.is_empty() => Ok(read),
            Some(_) | None => Err(self.into_invalid()),
        }
    }

    /// All that was found, in the order of lines.
    pub(crate) fn into_list(self) -> Vec<Problem> {
        self.into_invalid().problems
    }

    fn into_invalid(mut self) -> InvalidFile {
        let is_cut_short = self.are_many();
        self.found.sort_by_key(|problem| (problem.line, problem.column));
        let untold = self.found.len().saturating_sub(TOLD_AT_MOST);
        self.found.truncate(TOLD_AT_MOST);
        if untold > 0 {
            let last = self.found.last();
            let place = last.map_or(Place::START, |it| Place { line: it.line, column: it.column });
            let at_least = if is_cut_short { "at least " } else { "" };
            let what = format!("and {at_least}{untold} more problems");
            self.report(
                place,
                what,
                "fix the ones above first, or check that this is the right file",
            );
        }
        InvalidFile { problems: self.found }
    }
}

/// What a person wrote, short enough for a message and without secrets.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    if secret::looks_like_one(text) {
        return "a value that looks like a secret".to_owned();
    }
    let line: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN { format!("`{line}…`") } else { format!("`{line}`") }
}
