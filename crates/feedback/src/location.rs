//! Files of the workspace, and places in them.
//!
//! The invariant: a [`WorkspacePath`] is relative, has no `.` or `..` in it and does not leave the workspace, whatever a tool printed. That it
//! exists is not said: this room reads no disk.

use std::fmt;

use crate::text::Label;

/// Longer paths are not files.
pub const PATH_BYTES: usize = 1024;

/// A file below the workspace's root, with `/` between its parts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for WorkspacePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

/// Where something was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Location {
    /// The tool did not say.
    #[default]
    Unsaid,
    /// In a file of the workspace. Lines and columns count from 1.
    Inside { file: WorkspacePath, line: Option<u32>, column: Option<u32> },
    /// Somewhere that is not a file of the workspace, as the tool said it.
    Outside(Label),
}

impl Location {
    pub fn file(&self) -> Option<&WorkspacePath> {
        match self {
            Self::Inside { file, .. } => Some(file),
            Self::Unsaid | Self::Outside(_) => None,
        }
    }

    /// Bytes of its text.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Unsaid => 0,
            Self::Inside { file, .. } => file.as_str().len(),
            Self::Outside(text) => text.len(),
        }
    }

    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Inside { line, .. } => *line,
            Self::Unsaid | Self::Outside(_) => None,
        }
    }

    pub fn column(&self) -> Option<u32> {
        match self {
            Self::Inside { column, .. } => *column,
            Self::Unsaid | Self::Outside(_) => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsaid => Ok(()),
            Self::Outside(text) => formatter.write_str(text),
            Self::Inside { file, line, column } => {
                formatter.write_str(file.as_str())?;
                let Some(line) = line else { return Ok(()) };
                write!(formatter, ":{line}")?;
                column.map_or(Ok(()), |column| write!(formatter, ":{column}"))
            }
        }
    }
}

/// The workspace that a tool ran in: what its paths are read against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Parts of the root's absolute path, as the tool saw it.
    root: Vec<String>,
    /// Parts of the path from the root to where the tool ran.
    directory: Vec<String>,
    /// What the import paths of a Go module begin with.
    go_module: Option<String>,
}

impl Workspace {
    /// A workspace at this absolute path, with tools that ran at its root.
    pub fn at(root: &str) -> Self {
        Self { root: absolute(root), directory: Vec::new(), go_module: None }
    }

    /// Tools ran in this directory, relative to the root. One that leaves the root is the root.
    #[must_use]
    pub fn with_directory(mut self, directory: &str) -> Self {
        self.directory = resolve(&[], directory).unwrap_or_default();
        self
    }

    /// The name of the Go module at the place where tools ran, from its `go.mod`. Without it, Go's tests have no files: they say only the last
    /// part of a file's name.
    #[must_use]
    pub fn with_go_module(mut self, module: &str) -> Self {
        self.go_module = Some(module.trim_matches('/').to_owned());
        self
    }

    /// The file that a tool means by this path, if it is one of the workspace.
    pub fn file(&self, path: &str) -> Option<WorkspacePath> {
        let path = path.trim();
        let decoded;
        let path = match path.strip_prefix("file://") {
            Some(rest) => {
                decoded = decode(rest)?;
                &decoded
            }
            None => path,
        };
        let strange = |character: char| character.is_control() || "<>|\"?*".contains(character);
        if path.is_empty()
            || path.len() > PATH_BYTES
            || path.contains("://")
            || path.contains(strange)
        {
            return None;
        }
        let parts = if path.starts_with('/') {
            let parts = absolute(path);
            parts.strip_prefix(self.root.as_slice())?.to_vec()
        } else {
            resolve(&self.directory, path)?
        };
        (!parts.is_empty()).then(|| WorkspacePath(parts.join("/")))
    }

    /// The place that a tool means. What is no file of the workspace is kept as text.
    pub fn place(&self, path: &str, line: Option<u32>, column: Option<u32>) -> Location {
        if path.trim().is_empty() {
            return Location::Unsaid;
        }
        let line = line.filter(|line| *line > 0);
        let column = column.filter(|column| *column > 0 && line.is_some());
        match self.file(path) {
            Some(file) => Location::Inside { file, line, column },
            None => Location::Outside(outside(path, line, column)),
        }
    }

    /// The place in a file of a Go package, of which only the last part of the name was printed.
    pub fn go_place(&self, package: &str, file: &str, line: Option<u32>) -> Location {
        // With a directory it is where the tool ran, or somewhere else: as for everybody.
        if file.contains('/') {
            return self.place(file, line, None);
        }
        let below = self.go_module.as_deref().and_then(|module| package.strip_prefix(module));
        match below {
            Some("") => self.place(file, line, None),
            Some(below) if below.starts_with('/') => {
                self.place(&format!("{}/{file}", below.trim_start_matches('/')), line, None)
            }
            Some(_) | None => Location::Outside(outside(&format!("{package}: {file}"), line, None)),
        }
    }
}

fn outside(path: &str, line: Option<u32>, column: Option<u32>) -> Label {
    let mut text = path.trim().to_owned();
    for number in [line, column].into_iter().flatten() {
        text.push(':');
        text.push_str(&number.to_string());
    }
    Label::new(&text)
}

/// The parts of an absolute path. Its `..` end at `/`, as those of the kernel do.
fn absolute(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            other => parts.push(other.to_owned()),
        }
    }
    parts
}

/// The parts of a path from the root, if it stays below it.
fn resolve(directory: &[String], path: &str) -> Option<Vec<String>> {
    let mut parts = directory.to_vec();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            other => parts.push(other.to_owned()),
        }
    }
    Some(parts)
}

/// A path of a URL, with `%2F` and the like read as bytes. The host, which is empty or `localhost`, is left out.
fn decode(url: &str) -> Option<String> {
    let path = url.strip_prefix("localhost").unwrap_or(url);
    if path.len() > PATH_BYTES * 3 {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn workspace() -> Workspace {
        Workspace::at("/home/dev/src").with_directory("js")
    }

    fn file(path: &str) -> Option<String> {
        workspace().file(path).map(|file| file.to_string())
    }

    #[test]
    fn paths_are_read_from_where_the_tool_ran() {
        assert_eq!(file("a.js").as_deref(), Some("js/a.js"));
        assert_eq!(file("./lib//a.js").as_deref(), Some("js/lib/a.js"));
        assert_eq!(file("../py/a.py").as_deref(), Some("py/a.py"));
        assert_eq!(file("/home/dev/src/js/a.js").as_deref(), Some("js/a.js"));
        assert_eq!(file("file:///home/dev/src/js/a%20b.js").as_deref(), Some("js/a b.js"));
    }

    #[test]
    fn what_is_outside_is_text_and_no_file() {
        for path in [
            "../../secret",
            "/etc/passwd",
            "/home/dev/src",
            "/home/dev/src/../other/a",
            "/home/dev/srcs/a",
            "file:///etc/passwd",
            "file:///home/dev/src/%2e%2e/x",
            "https://example.com/a.js",
            "",
        ] {
            assert_eq!(file(path), None, "{path}");
        }
        assert_eq!(
            workspace().place("/etc/passwd", Some(3), Some(4)),
            Location::Outside(Label::new("/etc/passwd:3:4"))
        );
    }

    #[test]
    fn a_go_file_is_found_only_where_the_module_is_known() {
        let unknown = Workspace::at("/src");
        assert_eq!(unknown.go_place("demo/sub", "a_test.go", Some(3)).file(), None);
        let known = unknown.with_go_module("demo");
        assert_eq!(known.go_place("demo/sub", "a_test.go", Some(3)).to_string(), "sub/a_test.go:3");
        assert_eq!(known.go_place("demo", "a_test.go", None).to_string(), "a_test.go");
        assert_eq!(known.go_place("demonstration", "a_test.go", None).file(), None);
    }

    proptest! {
        #[test]
        fn no_path_leaves_the_workspace(path in "[./a%2eEfhomdvsrcile:\\\\-]{0,60}|\\PC{0,60}") {
            if let Some(file) = workspace().file(&path) {
                prop_assert!(!file.as_str().starts_with('/'));
                prop_assert!(file.as_str().split('/').all(|part| !part.is_empty() && part != "." && part != ".."));
            }
        }
    }
}
