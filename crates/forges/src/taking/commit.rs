//! The commit that the platform makes of inspected objects: its words, its people and its date are ours.

use std::path::Path;

use contracts::forge::Taking;
use domain::code::CommitId;
use git::{Git, GitError, QUICK, run};
use tokio::process::Command;

use crate::host::{Custom, Identity};

/// Makes the commit. The same taking and tree give the same commit.
pub(crate) async fn commit(
    git: &Git,
    repository: &Path,
    tree: &str,
    taking: &Taking,
    custom: &Custom,
) -> Result<CommitId, GitError> {
    let people = [("AUTHOR", &custom.author), ("COMMITTER", &custom.committer)];
    let seconds = taking.at.as_millis().div_euclid(1_000).max(0);
    let command = described(git.on(repository), people, seconds);
    let seal = custom.signing_key.as_deref().map_or(Seal::None, Seal::Ssh);
    make(command, seal, (tree, &[&taking.parent]), &text(&taking.message)).await
}

/// What a commit is signed with.
enum Seal<'a> {
    None,
    Ssh(&'a Path),
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
    let command = described(git.on(repository), people, seconds);
    make(command, Seal::None, (tree, parents), message).await
}

fn described(mut command: Command, people: [(&str, &Identity); 2], seconds: i64) -> Command {
    for (role, who) in people {
        command.env(format!("GIT_{role}_NAME"), word(&who.name, "Lamplighter"));
        command.env(format!("GIT_{role}_EMAIL"), word(&who.email, "lamplighter@localhost"));
        command.env(format!("GIT_{role}_DATE"), format!("@{seconds} +0000"));
    }
    command
}

async fn make(
    mut command: Command,
    seal: Seal<'_>,
    (tree, parents): (&str, &[&CommitId]),
    message: &str,
) -> Result<CommitId, GitError> {
    match seal {
        Seal::None => command.args(["commit-tree", "--no-gpg-sign", tree]),
        Seal::Ssh(key) => {
            command.args(["-c", "gpg.format=ssh", "-c", "gpg.ssh.program=ssh-keygen"]);
            command.args(["commit-tree", &format!("--gpg-sign={}", key.display()), tree])
        }
    };
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

/// Of a whole message. Whoever wrote more than that wrote no message.
const LONGEST_MESSAGE: usize = 64 << 10;

/// The words are made by `evidence`, which keeps what agents wrote from being a trailer. Here they only have to be a text.
fn text(message: &str) -> String {
    let fine = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    let text: String = message.chars().filter(fine).take(LONGEST_MESSAGE).collect();
    match text.trim() {
        "" => "Change\n".to_owned(),
        text => format!("{text}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_text_and_a_name_is_one_line() {
        let message = "Fix\u{1b}[2J it\r\n\nBecause.\n\nLamp-Task: t_1\n\n";
        assert_eq!(text(message), "Fix[2J it\n\nBecause.\n\nLamp-Task: t_1\n");
        assert_eq!(text("\0 \n"), "Change\n");
        assert_eq!(text(&"x".repeat(1 << 20)).len(), LONGEST_MESSAGE + 1);
        assert_eq!(word("A <b>\nC", "x"), "A bC");
        assert_eq!(word(" <> ", "x"), "x");
    }
}
