//! Paths of requests, and patterns over them.
//!
//! A request's path is compared in one canonical form. A path that two servers
//! could read differently (dot segments, backslashes, doubled slashes) does not
//! become a [`RequestPath`] at all.

use std::{fmt, str::FromStr};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("path `{0}` does not begin with `/`")]
    Relative(String),
    #[error("path `{0}` has an empty, `.` or `..` segment")]
    Ambiguous(String),
    #[error("path `{}` contains `{}`", .path.escape_default(), .character.escape_default())]
    ForbiddenCharacter { path: String, character: char },
    #[error("path `{0}` has a `*` that is not a final `/**`")]
    MisplacedWildcard(String),
}

/// The path of one request, without its query.
///
/// `%61` is read as the `a` that it stands for, and so are all visible characters, so that a rule about
/// `/admin` cannot be walked around by writing it differently. `%25`, `%3f` and `%23` stay as they are: what
/// they stand for means something else when it is written out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestPath(String);

impl FromStr for RequestPath {
    type Err = PathError;

    fn from_str(path: &str) -> Result<Self, Self::Err> {
        let decoded = decoded(path);
        unambiguous(&decoded)?;
        Ok(Self(decoded))
    }
}

impl RequestPath {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The path with every visible ASCII character written as itself, but for `?`, `#` and `%`.
fn decoded(path: &str) -> String {
    let mut pieces = path.split('%');
    let mut decoded = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, piece.get(2..)) {
            (Some(byte), Some(rest)) if byte.is_ascii_graphic() && !b"?#%".contains(&byte) => {
                decoded.push(char::from(byte));
                decoded.push_str(rest);
            }
            (_, _) => {
                decoded.push('%');
                decoded.push_str(piece);
            }
        }
    }
    decoded
}

impl fmt::Display for RequestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One path, or everything at and below one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathPattern {
    Exactly(String),
    /// `/a/**`: `/a` and everything below it. `/**` is kept as the empty string.
    Below(String),
}

impl PathPattern {
    /// Every path.
    pub const fn any() -> Self {
        Self::Below(String::new())
    }

    pub fn matches(&self, path: &RequestPath) -> bool {
        match self {
            Self::Exactly(exact) => *exact == path.0,
            Self::Below(root) => is_at_or_below(&path.0, root),
        }
    }

    /// Whether every path that `other` matches is matched by this one.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exactly(mine), Self::Exactly(theirs)) => mine == theirs,
            (Self::Exactly(_), Self::Below(_)) => false,
            (Self::Below(root), Self::Exactly(path) | Self::Below(path)) => {
                is_at_or_below(path, root)
            }
        }
    }
}

fn is_at_or_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl FromStr for PathPattern {
    type Err = PathError;

    fn from_str(pattern: &str) -> Result<Self, Self::Err> {
        let (root, is_tree) = match pattern.strip_suffix("/**") {
            Some(root) => (root, true),
            None => (pattern, false),
        };
        if root.contains('*') {
            return Err(PathError::MisplacedWildcard(pattern.to_owned()));
        }
        if let Some(character) = root.chars().find(|c| *c == '%') {
            return Err(PathError::ForbiddenCharacter { path: pattern.to_owned(), character });
        }
        if is_tree && root.is_empty() {
            return Ok(Self::any());
        }
        unambiguous(root)?;
        if is_tree { Ok(Self::Below(root.to_owned())) } else { Ok(Self::Exactly(root.to_owned())) }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(path) => f.write_str(path),
            Self::Below(root) => write!(f, "{root}/**"),
        }
    }
}

/// A path that every server reads the same way. One final `/` is fine.
fn unambiguous(path: &str) -> Result<(), PathError> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err(PathError::Relative(path.to_owned()));
    };
    let forbidden = |c: &char| c.is_control() || c.is_whitespace() || "\\?#".contains(*c);
    if let Some(character) = path.chars().find(forbidden) {
        return Err(PathError::ForbiddenCharacter { path: path.to_owned(), character });
    }
    let inner = rest.strip_suffix('/').unwrap_or(rest);
    let ambiguous = |segment: &str| matches!(segment, "" | "." | "..");
    if !rest.is_empty() && inner.split('/').any(ambiguous) {
        return Err(PathError::Ambiguous(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_can_be_read_in_two_ways_is_refused() {
        for path in [
            "a",
            "//",
            "/a//b",
            "/a/../b",
            "/a/%2e%2e/b",
            "/a/x%2f..%2fb",
            "/a\\b",
            "/a%5cb",
            "/a b",
            "/a?b",
        ] {
            assert!(path.parse::<RequestPath>().is_err(), "{path}");
        }
        for path in ["/", "/a", "/a/", "/@scope%2fname", "/a/b.c"] {
            assert!(path.parse::<RequestPath>().is_ok(), "{path}");
        }
    }

    #[test]
    fn a_path_is_the_same_however_its_letters_are_written() {
        let same = |left: &str, right: &str| {
            assert_eq!(left.parse::<RequestPath>(), right.parse::<RequestPath>(), "{left}");
        };
        same("/%61dmin", "/admin");
        same("/%41/%7Euser/%2b", "/A/~user/+");
        same("/a%252f", "/a%252f");
        for kept in ["/%3f", "/%23", "/%25", "/%c3%a4", "/%", "/%zz", "/%2"] {
            assert_eq!(kept.parse::<RequestPath>().unwrap().to_string(), kept);
        }
    }

    #[test]
    fn a_tree_includes_its_root_and_nothing_beside_it() {
        let tree: PathPattern = "/repos/**".parse().unwrap();
        let matches = |path: &str| tree.matches(&path.parse().unwrap());
        assert!(matches("/repos") && matches("/repos/a") && matches("/repos%2fa"));
        assert!(!matches("/repository") && !matches("/"));
        assert!(PathPattern::any().matches(&"/".parse().unwrap()));
        for pattern in ["repos", "/a/*", "/*/b", "/a/**/b", "/a%2fb", "/../**"] {
            assert!(pattern.parse::<PathPattern>().is_err(), "{pattern}");
        }
    }
}
