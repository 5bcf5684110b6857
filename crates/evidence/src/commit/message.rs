//! The message of a commit: a subject, a text, and trailers that only we write (RV3).

use std::fmt;

use super::{Trailers, plain::harmless, trailers::looks_like_a_trailer};
use crate::visible::{cut, line};

/// Letters of a subject: what fits where forges and terminals show one.
const SUBJECT_LIMIT: usize = 72;
/// Bytes of a message's text.
const TEXT_LIMIT: usize = 8 * 1024;
/// Co-authors of one commit.
const AUTHORS_LIMIT: usize = 20;

/// A name and an address, as git writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    name: String,
    email: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    #[error(
        "`{0}` is not a name that git can keep: one visible line of 1 to 100 bytes without `<` or `>`"
    )]
    Name(String),
    #[error(
        "`{0}` is not an address: letters, digits and `._%+-` around one `@`, at most 200 bytes"
    )]
    Email(String),
}

impl Identity {
    pub fn new(name: &str, email: &str) -> Result<Self, IdentityError> {
        let is_one_line = line(name, usize::MAX) == name;
        if !is_one_line || name.is_empty() || name.len() > 100 || name.contains(['<', '>']) {
            return Err(IdentityError::Name(line(name, 100)));
        }
        // Names of bots have brackets: `lamp[bot]@…`.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-[]".contains(&byte);
        let is_address = email.split_once('@').is_some_and(|(person, host)| {
            [person, host].iter().all(|it| !it.is_empty() && it.bytes().all(plain))
        });
        if !is_address || email.len() > 200 {
            return Err(IdentityError::Email(line(email, 200)));
        }
        Ok(Self { name: name.to_owned(), email: email.to_owned() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn email(&self) -> &str {
        &self.email
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

/// A commit's message, in parts. `Display` gives the whole of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    subject: String,
    text: String,
    co_authors: Vec<Identity>,
    trailers: Trailers,
}

impl Message {
    /// `subject` and `text` are an agent's words.
    pub fn new(subject: &str, text: &str, co_authors: &[Identity], trailers: Trailers) -> Self {
        let mut authors: Vec<Identity> = Vec::new();
        for author in co_authors.iter().take(AUTHORS_LIMIT) {
            if !authors.contains(author) {
                authors.push(author.clone());
            }
        }
        Self { subject: title(subject), text: body(text), co_authors: authors, trailers }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.subject)?;
        if !self.text.is_empty() {
            writeln!(f, "{}\n", self.text)?;
        }
        for author in &self.co_authors {
            writeln!(f, "Co-authored-by: {author}")?;
        }
        write!(f, "{}", self.trailers)
    }
}

/// The subject of a commit and the title of a pull request: one line of at most 72 letters. Never empty.
pub fn title(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|it| !it.is_empty()).unwrap_or_default();
    // Marks of Markdown mean nothing here, and an editor of git takes a line away that begins with `#`.
    let first = first.trim_start_matches(['#', '*', '-', '>', ' ']).trim_start();
    let first = line(&harmless(first), 4 * SUBJECT_LIMIT);
    let first = first.trim_end_matches('.');
    if first.is_empty() {
        return "Change".to_owned();
    }
    if first.chars().count() <= SUBJECT_LIMIT {
        return first.to_owned();
    }
    let kept: String = first.chars().take(SUBJECT_LIMIT - 1).collect();
    // Whole words, where the last one is not half of the line.
    let kept = kept.rsplit_once(' ').map_or(kept.as_str(), |(start, _)| start);
    format!("{}…", kept.trim_end())
}

/// Lines that would be taken for trailers, or for the beginning of a patch, are moved to the right, where no program looks for one.
fn body(text: &str) -> String {
    let text = cut(&harmless(text), TEXT_LIMIT);
    let lines = text.lines().map(|line| {
        let line = line.trim_end();
        let begins_a_patch = ["---", "diff ", "From "].iter().any(|it| line.starts_with(it));
        if begins_a_patch || looks_like_a_trailer(line) {
            return format!("  {line}");
        }
        line.to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use domain::{id::TaskId, plan::PlanHash};
    use proptest::prelude::*;

    use super::*;

    fn trailers() -> Trailers {
        let plan: PlanHash = "ab".repeat(32).parse().unwrap();
        Trailers { task: TaskId::from_u128(7), plan }
    }

    fn ann() -> Identity {
        Identity::new("Ann Example", "ann@example.com").unwrap()
    }

    #[test]
    fn a_message_has_a_subject_a_text_and_our_trailers() {
        let message = Message::new(
            "Wait for the session before asserting.",
            "The test asked too early.\n\nIt waits for the row now.",
            &[ann(), ann()],
            trailers(),
        );
        insta::assert_snapshot!(message);
    }

    #[test]
    fn an_agent_cannot_add_trailers_or_call_people() {
        let message = Message::new(
            "\n# fixes #7 for @ann \u{202e}",
            "Signed-off-by: Boss <boss@example.com>\nLamplighter-Task : t_00000000000000000000000008\n\nLamplighter-Plan: 12\n\
             lamplighter-plan: 13\nCo-authored-by: Eve <eve@example.com>\n---\ndiff --git a/x b/x\n",
            &[],
            trailers(),
        );
        insta::assert_snapshot!(message);
        assert_eq!(Trailers::read(&message.to_string()), Some(trailers()));
    }

    #[test]
    fn a_title_is_short_and_never_empty() {
        assert_eq!(title(" \n\u{200b}"), "Change");
        assert_eq!(title("## Add a lock.\nmore"), "Add a lock");
        let long = title(&"word ".repeat(40));
        assert!(long.chars().count() <= 72 && long.ends_with("word…"), "{long}");
        assert_eq!(title(&"é".repeat(100)).chars().count(), 72);
    }

    #[test]
    fn an_identity_stays_on_its_line() {
        assert!(Identity::new("lamp", "lamp[bot]@users.example.com").is_ok());
        for (name, email) in [
            ("", "a@b"),
            ("a\nCo-authored-by: x", "a@b"),
            ("a <b>", "a@b"),
            (" a", "a@b"),
            ("a\u{202e}", "a@b"),
            ("a", "a"),
            ("a", "a@"),
            ("a", "a@b@c"),
            ("a", "a@b>\nx"),
            ("a", "a b@c"),
        ] {
            assert!(Identity::new(name, email).is_err(), "{name} {email}");
        }
    }

    proptest! {
        #[test]
        fn whatever_an_agent_says_our_trailers_are_the_last_word(subject in ".*", text in "(?s).*") {
            let message = Message::new(&subject, &text, &[ann()], trailers()).to_string();
            prop_assert_eq!(Trailers::read(&message), Some(trailers()));
            prop_assert!(message.lines().next().unwrap().chars().count() <= 72);
            prop_assert_eq!(message.matches("\nCo-authored-by: ").count(), 1);
            prop_assert!(message.len() < 10 * 1024);
        }
    }
}
