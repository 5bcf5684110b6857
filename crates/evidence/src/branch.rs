//! The branch that a task's work goes to: named by a template, and always a name that git allows.
//!
//! **Invariant:** whatever an agent calls its work, the branch stays below the fixed beginning of the template, so it can never be a branch
//! of somebody else; and it holds the task's id, so that two tasks never share one.

use std::{fmt, str::FromStr};

use domain::{code::BranchName, id::TaskId};

use crate::visible::line;

/// Bytes of a branch's name. File systems of forges have limits, and so do the eyes of people.
const NAME_LIMIT: usize = 200;
/// Bytes of what a title becomes in a branch's name.
const SLUG_LIMIT: usize = 40;

/// A branch by its short name, without `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Branch(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a branch's name that git and the forges allow")]
pub struct BranchError(pub String);

impl Branch {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Branch {
    type Err = BranchError;

    /// Stricter than `git check-ref-format --branch`: letters, digits and `._-/` alone, and no part that another program takes for something else.
    fn from_str(name: &str) -> Result<Self, BranchError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
        let part_is_fine = |part: &str| {
            let is_a_lock = part.to_ascii_lowercase().ends_with(".lock");
            !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.') && !is_a_lock
        };
        // `refs/x` would be `refs/heads/refs/x`, and a hash or `HEAD` would hide what it names.
        let first = name.split('/').next().unwrap_or_default();
        let is_taken = first.eq_ignore_ascii_case("refs") || name.eq_ignore_ascii_case("head");
        let is_a_hash =
            matches!(name.len(), 40 | 64) && name.bytes().all(|it| it.is_ascii_hexdigit());
        let allowed = name.bytes().all(plain)
            && name.split('/').all(part_is_fine)
            && !name.contains("..")
            && name.len() <= NAME_LIMIT;
        if allowed && !is_taken && !is_a_hash {
            return Ok(Self(name.to_owned()));
        }
        Err(BranchError(line(name, NAME_LIMIT)))
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How an operator wants branches to be called: `agent/{task}-{slug}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTemplate(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Fixed(String),
    Task,
    Slug,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    #[error("`{{{0}}}` is not known here; there are `{{task}}` and `{{slug}}`")]
    UnknownName(String),
    #[error("a brace in `{0}` has no partner")]
    Brace(String),
    #[error(
        "`{0}` does not begin with a directory of its own, such as `lamp/`; without one it could name any branch"
    )]
    NoDirectory(String),
    #[error("`{0}` has no `{{task}}`; without it two tasks could share a branch")]
    NoTask(String),
    #[error("`{0}` gives names that git does not allow, such as `{1}`")]
    NotAllowed(String, String),
}

impl Default for BranchTemplate {
    fn default() -> Self {
        Self(vec![
            Piece::Fixed(BranchName::PREFIX.to_owned()),
            Piece::Task,
            Piece::Fixed("-".to_owned()),
            Piece::Slug,
        ])
    }
}

impl BranchTemplate {
    /// The branch of `task`, which is about `title`.
    pub fn name(&self, task: TaskId, title: &str) -> Result<Branch, BranchError> {
        self.fill(task, &slug(title)).parse()
    }

    fn fill(&self, task: TaskId, slug: &str) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Fixed(text) => text.clone(),
            Piece::Task => task.to_string(),
            Piece::Slug => slug.to_owned(),
        });
        pieces.collect()
    }
}

impl FromStr for BranchTemplate {
    type Err = TemplateFault;

    fn from_str(text: &str) -> Result<Self, TemplateFault> {
        let shown = || line(text, NAME_LIMIT);
        let template = Self(pieces(text)?);
        match template.0.first() {
            Some(Piece::Fixed(start)) if start.trim_start_matches('/').contains('/') => {}
            Some(Piece::Fixed(_) | Piece::Task | Piece::Slug) | None => {
                return Err(TemplateFault::NoDirectory(shown()));
            }
        }
        if !template.0.contains(&Piece::Task) {
            return Err(TemplateFault::NoTask(shown()));
        }
        // The longest and the shortest of what a title can become.
        for slug in ["x".repeat(SLUG_LIMIT), "7".to_owned()] {
            let name = template.fill(TaskId::from_u128(u128::MAX), &slug);
            if let Err(BranchError(name)) = name.parse::<Branch>() {
                return Err(TemplateFault::NotAllowed(shown(), name));
            }
        }
        Ok(template)
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, TemplateFault> {
    let broken = || TemplateFault::Brace(line(text, NAME_LIMIT));
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((fixed, after)) = rest.split_once('{') {
        if !fixed.is_empty() {
            pieces.push(Piece::Fixed(fixed.to_owned()));
        }
        let (name, after) = after.split_once('}').ok_or_else(broken)?;
        pieces.push(match name {
            "task" => Piece::Task,
            "slug" => Piece::Slug,
            other => return Err(TemplateFault::UnknownName(line(other, 50))),
        });
        rest = after;
    }
    if rest.contains('}')
        || pieces.iter().any(|it| matches!(it, Piece::Fixed(it) if it.contains('}')))
    {
        return Err(broken());
    }
    if !rest.is_empty() {
        pieces.push(Piece::Fixed(rest.to_owned()));
    }
    Ok(pieces)
}

/// A title in the letters that every forge, shell and file system takes. Never empty.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for letter in title.chars().take(10 * SLUG_LIMIT) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == SLUG_LIMIT {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "change".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TASK: TaskId = TaskId::from_u128(0x0192_f1a2_b3c4_7d5e_8f90_1234_5678_9abc);

    #[test]
    fn a_branch_reads_as_what_it_is_for() {
        let name = BranchTemplate::default().name(TASK, "Fix the flaky login test!").unwrap();
        assert_eq!(name.as_str(), "agent/t_01jbrt5cy4fnf8z40j6hb7h6nw-fix-the-flaky-login-test");
        let other: BranchTemplate = "team/agents/{slug}/{task}".parse().unwrap();
        let name = other.name(TASK, "日本").unwrap();
        assert_eq!(name.as_str(), "team/agents/change/t_01jbrt5cy4fnf8z40j6hb7h6nw");
        assert_eq!("agent/{task}-{slug}".parse(), Ok(BranchTemplate::default()));
    }

    #[test]
    fn a_template_that_could_name_anything_is_refused() {
        let told = |text: &str| text.parse::<BranchTemplate>().unwrap_err().to_string();
        insta::assert_snapshot!(
            [
                "{slug}-{task}",
                "lamp-{task}",
                "/x/{task}",
                "lamp/{slug}",
                "lamp/{task}{user}",
                "lamp/{task",
                "lamp/}{task}",
                "refs/heads/{task}",
                "lamp/{task}.lock",
                "la mp/{task}",
                "lamp//{task}",
                "lamp/../{task}",
                "",
            ]
            .map(told)
            .join("\n")
        );
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for wrong in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            ".a",
            "a/.b",
            "-a",
            "a/-b",
            "a.",
            "a.lock",
            "A.LOCK",
            "a..b",
            "a@{1}",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "a\nb",
            "HEAD",
            "head",
            "refs/heads/main",
            "Refs/x",
            "@",
            "é",
        ] {
            assert!(wrong.parse::<Branch>().is_err(), "{wrong}");
        }
        assert!("a".repeat(40).parse::<Branch>().is_err(), "a hash");
        assert!("a".repeat(201).parse::<Branch>().is_err(), "too long");
    }

    proptest! {
        #[test]
        fn every_title_gives_a_branch_below_the_beginning(title in ".*", bits: u128) {
            let name = BranchTemplate::default().name(TaskId::from_u128(bits), &title).unwrap();
            prop_assert!(name.as_str().starts_with("agent/t_"));
            prop_assert!(name.as_str().len() <= 6 + 28 + 1 + SLUG_LIMIT);
        }
    }
}
