//! `lamp pr get`

use std::io::Write;

use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::{
    client::Client,
    pull::{Pull, PullCheckState, PullOpinion, PullState},
};

use super::which::Which;
use crate::{
    amount,
    commands::task::World,
    timeline::{put::put_line, words},
};

/// Show a pull request: its text, its checks, what was said about it
#[derive(Debug, clap::Args)]
pub(super) struct Get {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    format: FormatFlag,
}

impl Get {
    pub(super) async fn run(
        &self,
        client: &Client,
        world: World<'_>,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let (repository, number) = self.which.find(client).await?;
        let pull = client.pull(&repository, number).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&pull))?)?,
            Format::People => write!(out, "{}", page(&pull, world.colors))?,
        }
        Ok(Exit::Done)
    }
}

fn page(pull: &Pull, colors: Colors) -> String {
    let title = format!("{}  {}", pull.number, words::line(&pull.title, 300));
    let mut text = format!("{}\n", colors.strong(title));
    // On plain git, the address is the command that shows this.
    let is_here = pull.address.starts_with("lamp ");
    let address = if is_here { String::new() } else { words::line(&pull.address, 300) };
    let head =
        pull.head.as_ref().map_or_else(|| "its branch is gone".to_owned(), |it| words::short(it));
    for (name, value) in [
        ("in", words::line(&pull.repository, 200)),
        ("at", address),
        ("state", words::pull_state(&pull.state)),
        (
            "branch",
            format!("{} into {}", words::line(&pull.branch, 200), words::line(&pull.base, 200)),
        ),
        ("head", head),
    ] {
        if !value.is_empty() {
            put_line!(text, "{name:<7} {value}");
        }
    }
    if pull.head.as_ref().is_some_and(|head| *head != pull.delivered) {
        let delivered = words::short(&pull.delivered);
        put_line!(text, "Somebody has pushed since {delivered} was delivered.");
    }
    text.push('\n');
    text.push_str(&words::block(without_block(&pull.body), 0, usize::MAX));
    for check in &pull.checks {
        let mark = match check.state {
            PullCheckState::Running => colors.weak("… running"),
            PullCheckState::Passed => colors.good("✓ passed "),
            PullCheckState::Failed => colors.bad("✗ failed "),
            PullCheckState::Skipped => colors.weak("- skipped"),
        };
        let words = format!("{}  {}", check.name, check.summary);
        put_line!(text, "{mark}  {}", words::line(&words, 300));
    }
    for review in &pull.reviews {
        let opinion = match review.opinion {
            PullOpinion::Approves => "approves",
            PullOpinion::WantsChanges => "wants changes",
            PullOpinion::Remarks => "remarks",
        };
        let at = amount::moment(review.at.as_millis());
        put_line!(text, "\n{} {opinion}, {at}:", words::author(&review.author));
        text.push_str(&words::block(&review.text, 2, usize::MAX));
    }
    for comment in &pull.comments {
        let place = match (&comment.path, comment.line) {
            (Some(path), Some(line)) => format!(" on {path}:{line}"),
            (Some(path), None) => format!(" on {path}"),
            (None, _) => String::new(),
        };
        let at = amount::moment(comment.at.as_millis());
        let place = words::line(&place, 300);
        put_line!(text, "\n{} {place}, {at}:", words::author(&comment.author));
        text.push_str(&words::block(&comment.text, 2, usize::MAX));
    }
    text + &next(pull)
}

/// Without the platform's own part for programs, which is the last one; `--json` has it. Nothing else of a body is left out.
fn without_block(body: &str) -> &str {
    let found = body.rsplit_once("<!-- lamplighter:block v1\n");
    match found {
        Some((before, block))
            if block.trim_end().ends_with("-->") && block.trim().lines().count() <= 2 =>
        {
            before
        }
        Some(_) | None => body,
    }
}

/// What can be typed now.
fn next(pull: &Pull) -> String {
    let (number, repo) = (pull.number, domain::shell::quoted(&words::line(&pull.repository, 200)));
    match pull.state {
        PullState::Draft {} | PullState::Open {} => format!(
            "\nIt waits for review.\n  \
             lamp pr diff {number} --repo {repo}         shows the change\n  \
             lamp pr comment {number} \"…\" --repo {repo}  asks for something else; the task goes on\n  \
             lamp pr merge {number} --repo {repo}        merges it\n  \
             lamp pr close {number} --repo {repo}        closes it\n"
        ),
        PullState::Merged { .. } | PullState::Closed { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::pr::samples;

    #[test]
    fn only_the_block_of_the_platform_is_left_out() {
        assert_eq!(without_block("a\n<!-- lamplighter:block v1\n{}\n-->\n"), "a\n");
        for whole in ["a", "<!-- x -->", "<!-- lamplighter:block v1\n{}\n--> more\nevil\nlines -->"]
        {
            assert_eq!(without_block(whole), whole);
        }
    }

    #[test]
    fn a_pull_request_is_shown_with_what_people_said() {
        insta::assert_snapshot!(page(&samples::pull(), Colors::OFF));
    }
}
