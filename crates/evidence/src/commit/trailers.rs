//! The last lines of a commit's message, by which a commit is known to be of a task.

use std::fmt;

use domain::{id::TaskId, plan::PlanHash};

/// Where a commit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailers {
    pub task: TaskId,
    pub plan: PlanHash,
}

const TASK: &str = "Lamplighter-Task: ";
const PLAN: &str = "Lamplighter-Plan: ";

/// Bytes of a message that is looked at. Anybody can write commits.
const MESSAGE_LIMIT: usize = 256 * 1024;

impl Trailers {
    /// Those in the last paragraph of `message`, if both are there, once, and spelt as we spell them.
    ///
    /// Anybody can write them. What they say is a place to look, not a proof.
    pub fn read(message: &str) -> Option<Self> {
        if message.len() > MESSAGE_LIMIT {
            return None;
        }
        let last = message.trim_end().rsplit("\n\n").next()?;
        Some(Self { task: only(last, TASK)?.parse().ok()?, plan: only(last, PLAN)?.parse().ok()? })
    }
}

impl fmt::Display for Trailers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{TASK}{}\n{PLAN}{}", self.task, self.plan)
    }
}

/// What follows `key` on the only line that begins with it.
fn only<'a>(paragraph: &'a str, key: &str) -> Option<&'a str> {
    let mut found = paragraph.lines().filter_map(|line| line.strip_prefix(key));
    let value = found.next()?;
    found.next().is_none().then_some(value)
}

/// A word, perhaps a space, and a colon: what `git interpret-trailers` would take, and `Fixes:` as well.
pub(super) fn looks_like_a_trailer(line: &str) -> bool {
    let Some((key, _)) = line.split_once([':', '=']) else { return false };
    let key = key.trim_end_matches(' ');
    !key.is_empty() && key.chars().all(|it| it.is_alphanumeric() || it == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_trailers_at_the_end_count() {
        let trailers =
            Trailers { task: TaskId::from_u128(7), plan: "ab".repeat(32).parse().unwrap() };
        let written = trailers.to_string();
        assert_eq!(Trailers::read(&format!("Subject\n\n{written}")), Some(trailers));
        for wrong in [
            String::new(),
            "Subject".to_owned(),
            format!("Subject\n\n{written}\nmore words"),
            format!("Subject\n\n{written}{written}"),
            format!("Subject\n\n{}", written.to_lowercase()),
            format!("Subject\n\n{}", written.replace("t_0", "t_9")),
            format!("Subject\n\n{TASK}{}\n", trailers.task),
            format!("{}\n\n{written}", "x".repeat(MESSAGE_LIMIT)),
        ] {
            assert_eq!(Trailers::read(&wrong), None, "{wrong:.60}");
        }
    }
}
