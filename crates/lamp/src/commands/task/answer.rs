//! `lamp answer`

use std::io::Write;

use anyhow::bail;
use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _, report::Hint};
use wire::task::{ask::AnswerQuestion, shown::Standing};

use super::{World, named::Named, told, words_flag::WordsFlag};
use crate::timeline::words;

/// Answer the question that an agent waits with
///
/// Where it offers choices, their number is enough. The answer reaches the same session of the agent.
#[derive(Debug, clap::Args)]
pub(crate) struct Answer {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    words: WordsFlag,

    #[command(flatten)]
    format: FormatFlag,
}

impl Answer {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let Some(question) = &task.question else {
            let hint = match task.standing {
                Standing::Over => {
                    "nobody reads it any more; `lamp run \"…\"` hands another task over".to_owned()
                }
                Standing::Queued | Standing::Works | Standing::WaitsForPerson => {
                    format!("`lamp message {} \"…\"` says something to the agent", task.short)
                }
            };
            let what = format!("task {} asks nothing: it is {}", task.short, task.state);
            bail!(Hint::new(what, hint));
        };
        let asked = words::line(&question.text, 300);
        let example = format!("it asks: {asked}  `lamp answer {} \"…\"`", task.short);
        let said = self.words.read(&example)?;
        let text = chosen(&said, &question.choices).unwrap_or(&said).to_owned();
        let wish = AnswerQuestion { question: Some(question.id.clone()), text };
        let task = client.answer(&task.id, &wish).await.explained()?;
        told(&format!("Answered: {}", words::line(&wish.text, 200)), &task, self.format, out)
    }
}

/// The choice of this number, from 1.
fn chosen<'c>(said: &str, choices: &'c [String]) -> Option<&'c str> {
    let number: usize = said.trim().parse().ok()?;
    choices.get(number.checked_sub(1)?).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_a_choice() {
        let choices = ["SQLite".to_owned(), "PostgreSQL".to_owned()];
        assert_eq!(chosen("2", &choices), Some("PostgreSQL"));
        for other in ["0", "3", "SQLite", "", "-1"] {
            assert_eq!(chosen(other, &choices), None, "{other}");
        }
    }
}
