//! Paths that mean the same on every file system, and never git's own directory.
//!
//! NTFS cuts dots and blanks off the end, takes what follows a colon for a stream, and gives `.git` the second name `git~1`. HFS+
//! does not see some characters at all. Both do not care about case. A name that any of them takes for `.git` is refused
//! everywhere, because whoever clones may sit at any of them.

use std::fmt;

use super::Limits;
use crate::shown;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameFault {
    Empty,
    NotText,
    Long,
    Deep,
    /// Absolute, `.`, `..`, an empty part, or a backslash.
    Elsewhere,
    /// Control characters, or such as hide.
    Deceives,
    DotGit,
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is an empty name",
            Self::NotText => "is a name that is not UTF-8",
            Self::Long => "is a name that is too long",
            Self::Deep => "is nested too deeply",
            Self::Elsewhere => "is a name that can lead elsewhere",
            Self::Deceives => "is a name with characters that cannot be seen",
            Self::DotGit => "is a name that git's own directory has on some file systems",
        })
    }
}

/// The longest name of one file on the file systems that people use.
const LONGEST_PART: usize = 255;

/// Whether a path may be in a repository.
pub fn check(path: &[u8], limits: &Limits) -> Result<(), NameFault> {
    if path.is_empty() {
        return Err(NameFault::Empty);
    }
    if path.len() > limits.path_bytes {
        return Err(NameFault::Long);
    }
    let path = std::str::from_utf8(path).map_err(|_not_text| NameFault::NotText)?;
    if path.split('/').count() > limits.depth {
        return Err(NameFault::Deep);
    }
    // Before what deceives: a hidden character in `.git` is worth its own sentence.
    for part in path.split('/') {
        if part.len() > LONGEST_PART {
            return Err(NameFault::Long);
        }
        if part.split('\\').any(is_dot_git) {
            return Err(NameFault::DotGit);
        }
        if matches!(part, "" | "." | "..") || part.contains('\\') || is_drive(part) {
            return Err(NameFault::Elsewhere);
        }
    }
    if path.chars().any(shown::deceives) {
        return Err(NameFault::Deceives);
    }
    Ok(())
}

/// `C:` is another disk on Windows.
fn is_drive(part: &str) -> bool {
    let mut letters = part.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':')
}

/// Whether some file system takes it for `.git`.
pub(super) fn is_dot_git(part: &str) -> bool {
    matches!(plain(part).as_str(), ".git" | "git~1" | "git~2" | "git~3" | "git~4")
}

/// The name as the most forgetful file system knows it.
pub(super) fn plain(part: &str) -> String {
    let seen: String = part.chars().filter(|c| !is_ignored(*c)).collect();
    let before_stream = seen.split(':').next().unwrap_or_default();
    before_stream.trim_end_matches(['.', ' ']).to_lowercase()
}

/// What HFS+ leaves out when it compares names.
const fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Two paths with the same fold are one on a file system that does not care about case. Composed and decomposed letters are not
/// brought together.
pub(super) fn folded(path: &str) -> String {
    path.to_lowercase()
}

/// The path and all directories above it: `a`, `a/b`, `a/b/c`.
pub(super) fn leading(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    ends.filter_map(|end| path.get(..end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn checked(path: &str) -> Result<(), NameFault> {
        check(path.as_bytes(), &Limits::default())
    }

    #[test]
    fn ordinary_paths_are_fine() {
        for path in [
            "README.md",
            "src/a b.rs",
            ".gitignore",
            ".github/x",
            "gitx",
            ".gitattributes",
            "übung/ß",
            "git~10",
            "a/..b",
        ] {
            assert_eq!(checked(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn git_is_found_in_every_spelling() {
        for part in [
            ".git",
            ".GIT",
            ".Git",
            ".git ",
            ".git.",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            "git~1",
            "GIT~1",
            "Git~2",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{200d}T ",
            "git~1::$DATA",
        ] {
            for path in [part.to_owned(), format!("a/{part}/config"), format!("{part}/hooks/x")] {
                assert_eq!(checked(&path), Err(NameFault::DotGit), "{path:?}");
            }
        }
        assert_eq!(checked("a\\.git\\config"), Err(NameFault::DotGit));
    }

    #[test]
    fn ways_out_are_refused() {
        for path in ["..", "a/../b", "/etc/passwd", "a//b", "./a", "a/.", "a\\b", "C:", "c:evil"] {
            assert_eq!(checked(path), Err(NameFault::Elsewhere), "{path}");
        }
        assert_eq!(checked("a\u{202e}b"), Err(NameFault::Deceives));
        assert_eq!(checked("a\nb"), Err(NameFault::Deceives));
        assert_eq!(checked(""), Err(NameFault::Empty));
        assert_eq!(check(b"a\xff", &Limits::default()), Err(NameFault::NotText));
        assert_eq!(checked(&"a/".repeat(64)), Err(NameFault::Deep));
        assert_eq!(checked(&"a".repeat(256)), Err(NameFault::Long));
        assert_eq!(checked(&format!("{}/x", "a/b".repeat(400))), Err(NameFault::Long));
    }

    proptest! {
        #[test]
        fn no_accepted_path_leads_elsewhere(path in "[.git/A~1: \\\\\u{200c}]{0,24}") {
            if checked(&path).is_ok() {
                for part in path.split('/') {
                    prop_assert!(!part.is_empty() && part != "." && part != "..");
                    prop_assert!(!plain(part).eq_ignore_ascii_case(".git"));
                }
            }
        }
    }
}
