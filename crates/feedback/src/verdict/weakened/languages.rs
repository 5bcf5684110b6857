//! Which language a file is in, and whether it is a file of tests.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Rust,
    Python,
    JavaScript,
    Go,
    /// And Kotlin, whose tests read the same.
    Java,
}

impl Language {
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension {
            "rs" => Self::Rust,
            "py" => Self::Python,
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" => Self::JavaScript,
            "go" => Self::Go,
            "java" | "kt" => Self::Java,
            _ => return None,
        })
    }

    /// Whether tests are looked for in a file of this path. Rust has them anywhere.
    pub(super) fn has_tests(self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split('.').next().unwrap_or(name);
        let is_in = |directories: &[&str]| path.split('/').any(|word| directories.contains(&word));
        match self {
            Self::Rust => true,
            Self::Python => {
                stem.starts_with("test")
                    || stem.ends_with("_test")
                    || stem == "conftest"
                    || is_in(&["tests", "test"])
            }
            Self::JavaScript => {
                name.contains(".test.")
                    || name.contains(".spec.")
                    || is_in(&["__tests__", "tests", "test", "spec"])
            }
            Self::Go => stem.ends_with("_test"),
            Self::Java => {
                stem.ends_with("Test")
                    || stem.ends_with("Tests")
                    || stem.ends_with("IT")
                    || is_in(&["test", "androidTest"])
            }
        }
    }
}
