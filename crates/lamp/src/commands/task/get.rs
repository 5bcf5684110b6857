//! `lamp get`

use std::io::Write;

use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::task::shown::{Context, Task};

use super::{World, named::Named};
use crate::{
    amount,
    timeline::{headline, next_commands, next_steps, put::put_line, words},
};

/// Show a task: where it stands, what it cost, and what to do next
#[derive(Debug, clap::Args)]
pub(crate) struct Get {
    #[command(flatten)]
    named: Named,

    /// Show instead what its agent was told, word for word
    #[arg(long)]
    context: bool,

    #[command(flatten)]
    format: FormatFlag,
}

impl Get {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let format = self.format.format();
        if self.context {
            let context = client.task_context(&task.id).await.explained()?;
            match format {
                Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&context))?)?,
                Format::People => write!(out, "{}", told(&context, world.colors))?,
            }
            return Ok(Exit::Done);
        }
        match format {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&task))?)?,
            Format::People => write!(out, "{}", page(&task, world.colors))?,
        }
        Ok(Exit::Done)
    }
}

/// All of a task that fits on a page.
pub(super) fn page(task: &Task, colors: Colors) -> String {
    let mut text = format!("{}\n\n", colors.strong(words::line(&task.title, 200)));
    let repositories: Vec<String> =
        task.repositories.iter().map(|it| words::line(&it.name, 200)).collect();
    let mut rows = vec![
        ("task", task.id.clone()),
        ("state", task.state.clone()),
        ("asked by", format!("{} ({})", words::person(&task.requester), task.channel)),
        ("in", repositories.join(", ")),
        ("agent", task.agent.clone()),
    ];
    let optional = [
        ("model", task.model.clone()),
        (
            "plan",
            task.plan_waiting.as_ref().or(task.plan_approved.as_ref()).map(|it| words::short(it)),
        ),
        ("branch", task.branch.clone()),
        ("commit", task.commit.clone()),
        ("pull", task.pull_request.map(|number| format!("#{number}"))),
        ("checks", task.headline.as_ref().map(|it| it.sentence.clone())),
        ("sandbox", task.sandbox.clone()),
        ("attempt", task.attempt.map(|attempt| attempt.to_string())),
        ("part of", task.parent.clone()),
        ("queue", task.queue.as_ref().map(|it| format!("place {}: {}", it.place, it.reason))),
    ];
    rows.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    rows.push(("spent", format!("{} of {}", task.spent.money.text, task.budget.text)));
    rows.push(("begun", amount::moment(task.created_at.as_millis())));
    rows.push(("changed", amount::moment(task.changed_at.as_millis())));
    for (name, value) in rows {
        put_line!(text, "{name:<9} {}", words::line(&value, 300));
    }
    if let Some(headline) = &task.headline {
        text.push_str(&headline::advice(headline, "          ! "));
    }
    for sibling in &task.siblings {
        let pull =
            sibling.pull_request.map(|it| format!(", pull request #{it}")).unwrap_or_default();
        let words = format!("{}: {}{pull}", sibling.short, sibling.state);
        put_line!(text, "another   {}", words::line(&words, 300));
    }
    for it in &task.dismissed {
        let place = it.finding.as_ref().map(|at| format!(" {}:{}", at.path, at.line));
        let why = it.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
        let by = words::person(&it.by);
        let told = format!("{}{} by {by}{why}", words::short(&it.id), place.unwrap_or_default());
        put_line!(text, "dismissed {}", words::line(&told, 300));
    }
    if let Some(question) = &task.question {
        put_line!(text, "\nIt asks: {}", words::line(&question.text, 2000));
        for (choice, number) in question.choices.iter().zip(1..) {
            put_line!(text, "  {number}. {}", words::line(choice, 300));
        }
    }
    if let Some(failure) = &task.failure {
        put_line!(text, "\nIt stopped: {}", crate::timeline::failure_line(failure));
        text.push_str(&crate::timeline::failure_body(failure));
    }
    text.push('\n');
    // Why it stopped, and what helps, is told once.
    match &task.failure {
        Some(failure) if task.next.sentence.contains(&failure.kind) => {
            text.push_str(&next_commands(task));
        }
        Some(_) | None => text.push_str(&next_steps(task)),
    }
    text
}

fn told(context: &Context, colors: Colors) -> String {
    let at = amount::moment(context.at.as_millis());
    let head = format!(
        "What its agent was told at {at} (run {}, attempt {}):",
        context.run, context.attempt
    );
    let mut text = format!("{}\n", colors.strong(head));
    for part in &context.texts {
        text.push('\n');
        text.push_str(&words::block(part, 0, usize::MAX));
    }
    text
}

#[cfg(test)]
mod tests {
    use wire::{agent::AgentFinding, task::review::DismissedFinding};

    use super::*;
    use crate::timeline::samples;

    #[test]
    fn a_page_says_where_a_task_stands_and_what_to_type() {
        let tasks = [
            samples::waiting_for_approval(),
            samples::waiting_for_answer(),
            samples::paused(),
            samples::pull_request_open(),
        ];
        let pages = tasks.map(|task| page(&task, Colors::OFF));
        insta::assert_snapshot!(pages.join("==========\n"));
    }

    #[test]
    fn a_page_says_what_was_dismissed_by_whom_and_why() {
        let finding = AgentFinding {
            path: "src/login.rs".to_owned(),
            line: 12,
            what: "an empty name is let in".to_owned(),
            failing_input: "\"\"".to_owned(),
        };
        let said = DismissedFinding {
            id: samples::HASH.to_owned(),
            finding: Some(finding),
            by: samples::ann(),
            at: samples::at(120),
            why: Some("guests have\u{1b}[2J no name".to_owned()),
        };
        let lost = DismissedFinding { finding: None, why: None, ..said.clone() };
        let task = Task { dismissed: vec![said, lost], ..samples::pull_request_open() };
        let page = page(&task, Colors::OFF);
        let told: Vec<&str> = page.lines().filter(|it| it.starts_with("dismissed")).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        dismissed 745169c4753d src/login.rs:12 by ann: guests have␛[2J no name
        dismissed 745169c4753d by ann
        ");
    }

    #[test]
    fn what_an_agent_was_told_is_shown_word_for_word() {
        let texts = vec!["# Task\n\nfix it\n".to_owned(), "evil \u{1b}[2J".to_owned()];
        let context = Context { run: 4, attempt: 1, at: samples::at(10), texts };
        insta::assert_snapshot!(told(&context, Colors::OFF));
    }
}
