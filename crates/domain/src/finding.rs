//! What a reviewer found, by a name that no one else's finding has.
//!
//! A person who dismisses a finding dismisses exactly what they read. So its name is a hash of what it says and where: the file, what is
//! wrong, and what it fails with. The line is not in it, because lines move when other findings are mended. How blanks stand between the
//! words of what is wrong is not in it either, or a reviewer that breaks its lines elsewhere would bring a dismissed finding back.
//!
//! **Invariant:** another file, or other words, is another finding. Findings are an agent's words, so the name is as long as the hash: nobody
//! can write one that has the name of another.

use std::{fmt, str::FromStr};

use crate::digest::{Digest, DigestError, Fingerprint};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FindingId(Digest);

impl FindingId {
    pub fn of(path: &str, what: &str, failing_input: &str) -> Self {
        let words: Vec<&str> = what.split_whitespace().collect();
        let hash = Fingerprint::of_kind("lamplighter finding 1")
            .text(path)
            .list(&words, |hash, word| hash.text(word))
            // Blanks within an input may be what it fails with.
            .text(failing_input.trim());
        Self(hash.finish())
    }

    pub const fn digest(self) -> Digest {
        self.0
    }

    /// Its beginning, for a person to compare and to type.
    pub fn short(&self) -> String {
        self.0.short()
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for FindingId {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATH: &str = "src/login.rs";
    const WHAT: &str = "an empty name is let in";
    const INPUT: &str = "login(\"\")";

    #[test]
    fn the_same_words_about_the_same_file_are_the_same_finding() {
        let id = FindingId::of(PATH, WHAT, INPUT);
        assert_eq!(id, FindingId::of(PATH, " an empty name\n  is let in\n", INPUT));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!(id.to_string().starts_with(&id.short()));
    }

    #[test]
    fn another_file_or_other_words_are_another_finding() {
        let id = FindingId::of(PATH, WHAT, INPUT);
        let others = [
            FindingId::of("src/logout.rs", WHAT, INPUT),
            FindingId::of(" src/login.rs", WHAT, INPUT),
            FindingId::of(PATH, "an empty name is let  in twice", INPUT),
            FindingId::of(PATH, "An empty name is let in", INPUT),
            FindingId::of(PATH, WHAT, "login(\" \")"),
            FindingId::of(PATH, WHAT, "login(\"  \")"),
            FindingId::of(PATH, WHAT, ""),
            FindingId::of(PATH, "", INPUT),
        ];
        assert!(others.iter().all(|other| *other != id));
    }

    proptest! {
        #[test]
        fn words_never_move_from_one_part_to_another(
            path in "[ab /]{0,6}", what in "[ab ]{0,8}", input in "[ab ]{0,8}",
            other_path in "[ab /]{0,6}", other_what in "[ab ]{0,8}", other_input in "[ab ]{0,8}",
        ) {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let same = path == other_path
                && words(&what) == words(&other_what)
                && input.trim() == other_input.trim();
            let ids = FindingId::of(&path, &what, &input) == FindingId::of(&other_path, &other_what, &other_input);
            prop_assert_eq!(same, ids);
        }
    }
}
