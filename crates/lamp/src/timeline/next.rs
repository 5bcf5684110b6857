//! What a person can type now. The server says it with every task; here it is laid out.

use wire::task::shown::Task;

use super::put::put_line;
use super::words;

/// How much of a plan's hash is typed: as much as an approval wants.
const HASH: usize = 12;

/// The sentence, and a command on each line.
pub(crate) fn next_steps(task: &Task) -> String {
    let mut text = format!("{}.\n", capital(&words::line(&task.next.sentence, 400)));
    let commands: Vec<(String, String)> = task
        .next
        .commands
        .iter()
        .map(|next| (typed(&words::line(&next.command, 200), task), words::line(&next.does, 100)))
        .collect();
    let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    for (command, does) in commands {
        put_line!(text, "  {command:<width$}  {does}");
    }
    text
}

/// An approval names the plan, so that the line also works where nobody can be asked.
fn typed(command: &str, task: &Task) -> String {
    match &task.plan_waiting {
        Some(hash) if command == format!("lamp approve {}", task.short) => {
            format!("{command} {}", hash.chars().take(HASH).collect::<String>())
        }
        Some(_) | None => command.to_owned(),
    }
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
