//! The commit that the platform makes of inspected objects: its words, its people and its date are ours.

use std::path::Path;

use domain::code::CommitId;

use crate::{
    git::{Git, GitError, QUICK, run},
    house::{Identity, Message, Order},
};

/// Makes the commit. The same order and tree give the same commit.
pub(crate) async fn commit(
    git: &Git,
    repository: &Path,
    tree: &str,
    order: &Order,
) -> Result<CommitId, GitError> {
    let people = [("AUTHOR", &order.author), ("COMMITTER", &order.committer)];
    let seconds = order.at.as_millis().div_euclid(1_000).max(0);
    let parents = [&order.parent];
    write(git, repository, tree, &parents, people, seconds, &text(&order.message)).await
}

pub(crate) async fn write(
    git: &Git,
    repository: &Path,
    tree: &str,
    parents: &[&CommitId],
    people: [(&str, &Identity); 2],
    seconds: i64,
    message: &str,
) -> Result<CommitId, GitError> {
    let mut command = git.on(repository);
    for (role, who) in people {
        command.env(format!("GIT_{role}_NAME"), word(&who.name, "Lamplighter"));
        command.env(format!("GIT_{role}_EMAIL"), word(&who.email, "lamp@lamplighter.invalid"));
        command.env(format!("GIT_{role}_DATE"), format!("@{seconds} +0000"));
    }
    command.args(["commit-tree", "--no-gpg-sign", tree]);
    for parent in parents {
        command.args(["-p", parent.as_str()]);
    }
    let made = run(command, message.as_bytes(), QUICK).await?.checked("make a commit")?;
    let made = String::from_utf8_lossy(&made);
    made.trim().parse().map_err(|_wrong| GitError::Strange { doing: "make a commit" })
}

/// A name may not end the line that it stands in, nor be empty.
fn word(text: &str, otherwise: &str) -> String {
    let kept: String =
        text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).take(200).collect();
    let kept = kept.trim_matches(|c: char| c.is_whitespace() || ".,:;\"'".contains(c));
    if kept.is_empty() { otherwise.to_owned() } else { kept.to_owned() }
}

/// Subject, body and trailers. What is one line stays one line, so that nobody smuggles a trailer in.
fn text(message: &Message) -> String {
    let one_line = |text: &str, longest: usize| -> String {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(longest).collect()
    };
    let mut text = one_line(&message.subject, 200).trim().to_owned();
    if text.is_empty() {
        text.push_str("Change");
    }
    let body: String =
        message.body.chars().filter(|c| *c == '\n' || !c.is_control()).take(20_000).collect();
    if !body.trim().is_empty() {
        text.push_str("\n\n");
        text.push_str(body.trim());
    }
    let mut trailers = message.trailers.iter().take(50).peekable();
    if trailers.peek().is_some() {
        // A body that ends like a trailer is kept apart from ours.
        text.push('\n');
    }
    for (key, value) in trailers {
        let key: String = key.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        for part in ["\n", &key, ": ", one_line(value, 500).trim()] {
            text.push_str(part);
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_one_line_stays_one_line() {
        let message = Message {
            subject: "Fix\nSigned-off-by: boss".to_owned(),
            body: "Because.\r\n".to_owned(),
            trailers: vec![("Lamp-Task".to_owned(), "t_1\nSigned-off-by: boss".to_owned())],
        };
        assert_eq!(
            text(&message),
            "Fix Signed-off-by: boss\n\nBecause.\n\nLamp-Task: t_1 Signed-off-by: boss\n"
        );
        assert_eq!(text(&Message::default()), "Change\n");
        assert_eq!(word("A <b>\nC", "x"), "A bC");
        assert_eq!(word(" <> ", "x"), "x");
    }
}
