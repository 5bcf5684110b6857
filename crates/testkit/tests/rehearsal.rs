//! What `make demo` shows, word by word, and that it ends well when nobody reads it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say so")]

use std::process::{Command, Stdio};

fn rehearsal() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rehearsal"))
}

#[test]
fn the_rehearsal_tells_the_whole_story() {
    let output = rehearsal().arg("--yes").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(error, "");
    insta::assert_snapshot!(redacted(&String::from_utf8(output.stdout).unwrap()));
}

#[test]
fn a_reader_who_has_read_enough_ends_it_quietly() {
    let mut child =
        rehearsal().arg("--yes").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn nobody_at_a_terminal_is_said_to_be_nobody() {
    let output = rehearsal().stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("(by the rehearsal: nobody is at a terminal)"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn a_word_that_it_does_not_know_is_refused() {
    let output = rehearsal().arg("--fast").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "rehearsal: `--fast` is not understood here; try `--help`\n"
    );
}

/// The text without what differs from run to run: times, processes, ids and hashes.
fn redacted(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let follows_process = plain.ends_with("process ") || plain.ends_with("Process ");
        plain.push_str(match word {
            id if id.starts_with("t_") && id.len() == 28 => "t_…",
            hash if hash.len() >= 12 && hash.chars().all(|c| c.is_ascii_hexdigit()) => "HASH",
            time if after.starts_with(" s ") && time.parse::<f64>().is_ok() => "0.00",
            // How much is repeated depends on the moment of the kill.
            _count if after.starts_with(" calls to the outside") => "N",
            number if follows_process && number.ends_with('.') => "N.",
            _number if follows_process => "N",
            word => word,
        });
        let mut others = after.chars();
        plain.extend(others.next());
        rest = others.as_str();
    }
    plain
}
