//! Asks the person at the terminal: about a plan, or for an answer.

use wire::task::shown::{Question, Task};

use super::{keyboard::Keyboard, next_steps, page::Page, story, words};

/// What a person said to a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Approve,
    Reject(String),
    /// Nothing, for now.
    Leave,
}

/// What else can be done about a plan.
pub(crate) fn details(task: &Task) -> String {
    let spent = story::spent(&task.spent);
    let hash = task.plan_waiting.as_deref().map(|it| words::line(it, 64)).unwrap_or_default();
    format!(
        "Spent so far: {spent}; it may spend {}. Until you decide, nothing runs.\n{}  \
         lamp approve {short} {hash} --path … --host … --command … --budget … --time …\n      \
         approves it with conditions: what the agent may change, reach, run and use\n",
        words::line(&task.budget.text, 20),
        next_steps(task),
        short = task.short,
    )
}

/// Asks until there is a decision. A key that means nothing decides nothing.
pub(crate) async fn ask_about_plan(
    page: &mut Page<'_>,
    keyboard: &mut Keyboard,
    details: &str,
) -> anyhow::Result<Said> {
    let question = "Approve this plan? [a]pprove, [r]eject, [d]etails, [q]uit:";
    loop {
        let Some(said) = page.ask(keyboard, question).await? else { return Ok(Said::Leave) };
        match said.to_ascii_lowercase().as_str() {
            "a" | "approve" => return Ok(Said::Approve),
            "r" | "reject" => {
                let ask = "What should be different? (an empty line goes back)";
                match page.ask(keyboard, ask).await? {
                    None => return Ok(Said::Leave),
                    Some(comment) if comment.is_empty() => {}
                    Some(comment) => return Ok(Said::Reject(comment)),
                }
            }
            "d" | "details" => page.text(details)?,
            "q" | "quit" => return Ok(Said::Leave),
            _another => page.text("Please type `a`, `r`, `d` or `q`.\n")?,
        }
    }
}

/// The answer to a question of the agent: a number stands for a choice. Nothing when the person leaves.
pub(super) async fn ask_for_answer(
    page: &mut Page<'_>,
    keyboard: &mut Keyboard,
    question: &Question,
) -> anyhow::Result<Option<String>> {
    let ask = match question.choices.len() {
        0 => "Your answer (`q` leaves it for later):".to_owned(),
        most => format!("Your answer, or 1 to {most} (`q` leaves it for later):"),
    };
    loop {
        let Some(said) = page.ask(keyboard, &ask).await? else { return Ok(None) };
        if said.eq_ignore_ascii_case("q") {
            return Ok(None);
        }
        let chosen = said.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let chosen = chosen.and_then(|number| question.choices.get(number));
        match chosen {
            Some(choice) => return Ok(Some(choice.clone())),
            None if said.is_empty() => {}
            None => return Ok(Some(said)),
        }
    }
}

#[cfg(test)]
mod tests {
    use terminal::colors::Colors;

    use super::*;
    use crate::timeline::{page::Audience, samples};

    async fn decided(lines: &[&'static str]) -> (Said, String) {
        let mut out = Vec::new();
        let mut page = Page::new(Audience::Lines, Colors::OFF, &mut out);
        let mut keyboard = Keyboard::typing(lines);
        let said = ask_about_plan(&mut page, &mut keyboard, "More about it.\n").await.unwrap();
        (said, String::from_utf8(out).unwrap())
    }

    #[tokio::test]
    async fn only_a_clear_word_decides_about_a_plan() {
        assert_eq!(decided(&["a"]).await.0, Said::Approve);
        assert_eq!(decided(&["", "yes", "aa", "A"]).await.0, Said::Approve);
        assert_eq!(decided(&["q", "a"]).await.0, Said::Leave);
        assert_eq!(decided(&[]).await.0, Said::Leave);
        assert_eq!(decided(&["r", "smaller"]).await.0, Said::Reject("smaller".to_owned()));
        assert_eq!(decided(&["r", "", "q"]).await.0, Said::Leave);
        assert!(decided(&["d", "q"]).await.1.contains("More about it."));
    }

    #[test]
    fn details_say_how_to_approve_with_conditions() {
        insta::assert_snapshot!(details(&samples::waiting_for_approval()));
    }

    #[tokio::test]
    async fn a_number_stands_for_a_choice() {
        let question = samples::question();
        for (lines, expected) in [
            (["1"].as_slice(), Some("SQLite")),
            (&["", "3"], Some("3")),
            (&["neither"], Some("neither")),
            (&["0"], Some("0")),
            (&["q"], None),
            (&[], None),
        ] {
            let mut out = Vec::new();
            let mut page = Page::new(Audience::Lines, Colors::OFF, &mut out);
            let mut keyboard = Keyboard::typing(lines);
            let answer = ask_for_answer(&mut page, &mut keyboard, &question).await.unwrap();
            assert_eq!(answer.as_deref(), expected);
        }
    }
}
