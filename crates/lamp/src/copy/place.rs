//! Where to copy from and to: `fox:/path` in a sandbox, or a path here.

use std::{path::PathBuf, str::FromStr};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Inside { sandbox: String, path: String },
    Here(PathBuf),
}

impl FromStr for Place {
    type Err = String;

    /// A sandbox's name has no `/`, so `./a:/b` is a path here.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((sandbox, path)) if !sandbox.is_empty() && !sandbox.contains('/') => {
                if !path.starts_with('/') {
                    return Err(format!(
                        "write the path in the sandbox from the root: `{sandbox}:/{path}`"
                    ));
                }
                Ok(Self::Inside { sandbox: sandbox.to_owned(), path: path.to_owned() })
            }
            Some(_) | None if text.is_empty() => Err("a path cannot be empty".to_owned()),
            Some(_) | None => Ok(Self::Here(PathBuf::from(text))),
        }
    }
}

/// The last word of a path inside; nothing for the root.
pub(crate) fn last_word(path: &str) -> Option<&str> {
    let word = path.trim_end_matches('/').rsplit('/').next()?;
    (!word.is_empty() && word != "." && word != "..").then_some(word)
}

/// What stands before the last word.
pub(crate) fn parent(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_after_a_word_means_inside() {
        let inside = Place::Inside { sandbox: "fox".to_owned(), path: "/a:b".to_owned() };
        assert_eq!("fox:/a:b".parse(), Ok(inside));
        assert_eq!("./fox:/a".parse(), Ok(Place::Here(PathBuf::from("./fox:/a"))));
        assert_eq!("a/b".parse(), Ok(Place::Here(PathBuf::from("a/b"))));
        assert!("fox:a".parse::<Place>().is_err());
        assert!("".parse::<Place>().is_err());
    }

    #[test]
    fn paths_have_a_last_word_and_a_parent() {
        assert_eq!((last_word("/a/b/"), parent("/a/b/")), (Some("b"), "/a"));
        assert_eq!((last_word("/a"), parent("/a")), (Some("a"), "/"));
        assert_eq!((last_word("/"), parent("/")), (None, "/"));
        assert_eq!(last_word("/a/.."), None);
    }
}
