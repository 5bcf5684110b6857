//! `lamp review`
//!
//! **Invariant:** what is dismissed is what was shown. A finding is named by a beginning of its hash that is as long as the one on the page, and
//! only one that the newest review has; the server gets the whole hash.

use std::io::Write;

use anyhow::bail;
use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
    report::Hint,
};
use wire::task::{
    ask::DismissFinding,
    review::{Dismissal, ReviewFinding, TaskReview},
    shown::Task,
};

use super::{World, named::Named, told};
use crate::timeline::{put::put_line, words};

/// The fewest letters of an id: as many as are shown. The words of a finding are an agent's, which could look for some that have fewer in
/// common with those of another.
const FEWEST: usize = 12;

/// Show what the second agent found in the change, or dismiss some of it
///
/// Ends with 1 when it did not let the change pass. What is dismissed never counts again, in this round or in a later one; the pull request and
/// its receipt say who did it, and why. A paused task whose findings are all dismissed is delivered by `lamp resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Review {
    #[command(flatten)]
    named: Named,

    /// Say that a finding does not count: its id, as it is shown here; may be given more than once
    #[arg(long = "dismiss", value_name = "ID")]
    dismissed: Vec<String>,

    /// Why, in one line
    #[arg(long, value_name = "TEXT", requires = "dismissed")]
    why: Option<String>,

    #[command(flatten)]
    format: FormatFlag,
}

impl Review {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let review = client.task_review(&task.id).await.explained()?;
        if self.dismissed.is_empty() {
            match self.format.format() {
                Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&review))?)?,
                Format::People => write!(out, "{}", page(&review, &task.short, world.colors))?,
            }
            return Ok(if review.passed { Exit::Done } else { Exit::Failed });
        }
        // All are looked for before the first is dismissed.
        let meant = self.dismissed.iter().map(|named| meant(named, &review, &task));
        let meant = meant.collect::<anyhow::Result<Vec<_>>>()?;
        let mut after = task;
        for finding in &meant {
            let wish = DismissFinding { finding: finding.id.clone(), why: self.why.clone() };
            after = client.dismiss(&after.id, &wish).await.explained()?;
        }
        told(&dismissed(&meant), &after, self.format, out)
    }
}

/// The finding that a person means.
fn meant<'a>(
    named: &str,
    review: &'a TaskReview,
    task: &Task,
) -> anyhow::Result<&'a ReviewFinding> {
    let shown = format!("`lamp review {}` shows them with their ids", task.short);
    let named = named.to_ascii_lowercase();
    let short = words::line(&named, 64);
    if named.len() < FEWEST {
        let hint = format!("write the {FEWEST} letters that are shown; {shown}");
        bail!(Hint::new(format!("`{short}` is too short to name a finding"), hint));
    }
    let mut found = review.findings.iter().filter(|it| it.id.starts_with(&named));
    let Some(first) = found.next() else {
        bail!(Hint::new(format!("the newest review has no finding `{short}`"), shown));
    };
    // The same words about several lines are one finding.
    if found.any(|it| it.id != first.id) {
        let hint = format!("write more of it; {shown}");
        bail!(Hint::new(format!("`{short}` names more than one finding"), hint));
    }
    Ok(first)
}

fn dismissed(findings: &[&ReviewFinding]) -> String {
    let line = |it: &&ReviewFinding| {
        format!("Finding {} ({}) is dismissed.", words::short(&it.id), place(it))
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn place(finding: &ReviewFinding) -> String {
    words::line(&format!("{}:{}", finding.path, finding.line), 300)
}

fn page(review: &TaskReview, short: &str, colors: Colors) -> String {
    let on = format!(" on {}", words::short(&review.commit));
    let round = match review.round {
        0 | 1 => String::new(),
        many => format!(", in round {many}"),
    };
    let mut text = match (review.passed, review.findings.is_empty()) {
        (true, true) => {
            format!("{}{on}{round}.\n", colors.good("The reviewer lets the change pass"))
        }
        (true, false) => {
            let all = colors.good("all of it was dismissed");
            format!("The reviewer found something{on}{round}; {all}.\n")
        }
        (false, _) => format!("{}{on}{round}.\n", colors.bad("The reviewer found faults")),
    };
    for it in &review.findings {
        put_line!(text, "\n{}  {}", colors.strong(place(it)), words::short(&it.id));
        text.push_str(&words::block(&it.what, 2, usize::MAX));
        if !it.failing_input.trim().is_empty() {
            put_line!(text, "  fails with: {}", words::line(&it.failing_input, 500));
        }
        if let Some(Dismissal { by, why, .. }) = &it.dismissed {
            let why = why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            let told = format!("dismissed by {}{why}", words::person(by));
            put_line!(text, "  {}", words::line(&told, 2200));
        }
    }
    if !review.passed {
        put_line!(text, "\nWhat is no fault: lamp review {short} --dismiss ID --why TEXT");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    fn finding(id: &str, line: u32) -> ReviewFinding {
        ReviewFinding {
            id: format!("{id}{}", "0".repeat(64 - id.len())),
            path: "src/login.rs".to_owned(),
            line,
            what: "an empty name is let in\n\u{1b}[2Jreally".to_owned(),
            failing_input: "\"\"".to_owned(),
            dismissed: None,
        }
    }

    fn review(findings: Vec<ReviewFinding>) -> TaskReview {
        TaskReview {
            commit: samples::COMMIT.to_owned(),
            at: samples::at(100),
            passed: false,
            round: 2,
            findings,
        }
    }

    #[test]
    fn findings_name_place_and_failing_input_and_who_dismissed_them() {
        let why = Some("guests have\u{1b}[2J no name".to_owned());
        let dismissal = Dismissal { by: samples::ann(), at: samples::at(120), why };
        let gone = ReviewFinding { dismissed: Some(dismissal), ..finding("b0b", 40) };
        let some = review(vec![finding("a11ce", 12), gone.clone()]);
        let all = TaskReview { passed: true, findings: vec![gone], ..some.clone() };
        let fine = TaskReview { passed: true, round: 1, findings: Vec::new(), ..some.clone() };
        let told = [some, all, fine].map(|it| page(&it, "t_01jbrt5cy4fn", Colors::OFF));
        insta::assert_snapshot!(told.join("---\n"));
    }

    #[test]
    fn a_finding_is_dismissed_by_the_id_that_was_shown_and_by_no_other() {
        let task = samples::paused();
        let (one, same, other) =
            (finding("a11ce", 12), finding("a11ce", 80), finding("a11ce0000000f", 9));
        let read = review(vec![one.clone(), same]);
        let named = |name: &str, review: &TaskReview| {
            meant(name, review, &task).map(|it| it.id.clone()).map_err(|error| error.to_string())
        };
        assert_eq!(named("A11CE0000000", &read), Ok(one.id.clone()));
        assert_eq!(named(&one.id, &read), Ok(one.id.clone()));
        let both = review(vec![one.clone(), other]);
        let refused = [
            named("", &read),
            named("a11ce000000", &read),
            named("a11ce000000f", &read),
            named(&format!("{}0", one.id), &read),
            named("a11ce0000000", &both),
        ];
        let told = refused.map(Result::unwrap_err).join("\n");
        insta::assert_snapshot!(told, @r"
        `` is too short to name a finding
        `a11ce000000` is too short to name a finding
        the newest review has no finding `a11ce000000f`
        the newest review has no finding `a11ce0000000000000000000000000000000000000000000000000000000000…`
        `a11ce0000000` names more than one finding
        ");
    }

    #[test]
    fn what_was_dismissed_is_told_with_its_place() {
        let (one, other) = (finding("a11ce", 12), finding("b0b", 40));
        insta::assert_snapshot!(dismissed(&[&one, &other]), @r"
        Finding a11ce0000000 (src/login.rs:12) is dismissed.
        Finding b0b000000000 (src/login.rs:40) is dismissed.
        ");
    }
}
