//! Words for a shell.

/// The text as one word of `sh`, whatever is in it. Plain words stay as they are, for the reader.
pub fn quoted(text: &str) -> String {
    // `=` is not among them: at the beginning of a line it makes a variable of a word.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:@+".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_stays_a_word() {
        let words = ["./web", "t_01", "", "a b", "$(touch x)", "it's; rm", "A=b", "~", "-n"];
        let told: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        assert_eq!(
            told,
            [
                "./web",
                "t_01",
                "''",
                "'a b'",
                "'$(touch x)'",
                r"'it'\''s; rm'",
                "'A=b'",
                "'~'",
                "-n"
            ]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The shell itself is asked.
        #[test]
        fn a_shell_takes_it_as_it_was(text in "[^\0]{0,40}|[-a-z'\"$`\\\\ \n!*?\\[#~=&|;<>(){}]{0,20}") {
            #[expect(clippy::disallowed_types, reason = "a shell is what it is written for")]
            let mut shell = std::process::Command::new("sh");
            shell.arg("-c").arg(format!("printf %s {}", quoted(&text)));
            let said = shell.output().unwrap();
            prop_assert_eq!(OsStr::from_bytes(&said.stdout), OsStr::new(&text));
        }
    }
}
