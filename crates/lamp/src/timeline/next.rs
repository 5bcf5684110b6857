//! What a person can type now. The server says it with every task; here it is laid out.

use wire::task::shown::Task;

use super::put::put_line;
use super::words;

/// A longer command, such as one with a plan's whole hash, does not push away what the others do.
const WIDEST: usize = 48;

/// The sentence, and a command on each line.
pub(crate) fn next_steps(task: &Task) -> String {
    let sentence = capital(&words::line(&task.next.sentence, 400));
    format!("{sentence}.\n{}", next_commands(task))
}

/// Only the commands, where the sentence has been told.
pub(crate) fn next_commands(task: &Task) -> String {
    let mut text = String::new();
    let commands: Vec<(String, String)> = task
        .next
        .commands
        .iter()
        .map(|next| (words::line(&next.command, 200), words::line(&next.does, 100)))
        .collect();
    let widths = commands.iter().map(|(command, _)| command.chars().count());
    let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
    for (command, does) in commands {
        put_line!(text, "  {command:<width$}  {does}");
    }
    text
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn every_state_says_what_to_type() {
        insta::assert_snapshot!(next_steps(&samples::waiting_for_approval()));
        insta::assert_snapshot!(next_steps(&samples::pull_request_open()));
    }
}
