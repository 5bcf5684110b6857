//! `lamp checks`

use std::io::Write;

use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::task::checks::{self as shape, CheckOutcome, CheckSide, CheckVerdict, Conclusion};

use super::{World, named::Named};
use crate::timeline::{put::put_line, words};

/// Findings and tests of one check that are shown.
const SHOWN: usize = 20;

/// Show what the platform's own checks found, on the base and on the change
///
/// What an agent says about tests does not count: the checks are run on the exact commit, in a clean sandbox. Ends with 1 when they fail.
#[derive(Debug, clap::Args)]
pub(crate) struct Checks {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    format: FormatFlag,
}

impl Checks {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let checks = client.task_checks(&task.id).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&checks))?)?,
            Format::People => write!(out, "{}", page(&checks, world.colors))?,
        }
        Ok(match checks.conclusion {
            Conclusion::Passes | Conclusion::Unproven => Exit::Done,
            Conclusion::Fails => Exit::Failed,
        })
    }
}

fn page(checks: &shape::Checks, colors: Colors) -> String {
    let conclusion = match checks.conclusion {
        Conclusion::Passes => colors.good("The checks pass").to_string(),
        Conclusion::Fails => colors.bad("The checks fail").to_string(),
        Conclusion::Unproven => {
            colors.warning("Nothing is proven: no check ran that could have failed").to_string()
        }
    };
    let (commit, base) = (words::short(&checks.commit), words::short(&checks.base));
    let mut text = format!("{conclusion} on {commit}, compared with {base}.\n");
    if !checks.checks.is_empty() {
        put_line!(text, "\n{:<16}  {:<13}  {:<26}  {}", "CHECK", "VERDICT", "BASE", "CHANGE");
    }
    for check in &checks.checks {
        text.push_str(&row(check, colors));
    }
    if !checks.weakened.is_empty() {
        text.push_str("\nTests that were made weaker:\n");
    }
    for test in &checks.weakened {
        let place = place(test.path.as_deref(), test.line);
        let words = format!("{}{place}: {}", test.kind, test.what);
        put_line!(text, "  ! {}", words::line(&words, 300));
    }
    if checks.weakened_left_off > 0 {
        put_line!(text, "  [{} more]", checks.weakened_left_off);
    }
    if !checks.left_out.is_empty() {
        text.push_str("\nNot run:\n");
    }
    for it in checks.left_out.iter().take(SHOWN) {
        put_line!(text, "  - {}", words::line(&format!("{}: {}", it.command, it.reason), 300));
    }
    if let Some(coverage) = &checks.coverage {
        put_line!(
            text,
            "\nTests run {} of the changed lines, and miss {}.",
            coverage.covered,
            coverage.missed
        );
    }
    text
}

fn row(check: &CheckVerdict, colors: Colors) -> String {
    let outcome = match check.outcome {
        CheckOutcome::Passed => colors.good(format!("{:<13}", "passed")),
        CheckOutcome::Fixed => colors.good(format!("{:<13}", "fixed")),
        CheckOutcome::Flaky => colors.warning(format!("{:<13}", "flaky")),
        CheckOutcome::KnownFailure => colors.warning(format!("{:<13}", "known failure")),
        CheckOutcome::Regressed => colors.bad(format!("{:<13}", "worse")),
        CheckOutcome::NotRun => colors.warning(format!("{:<13}", "not run")),
        CheckOutcome::Unjudged => colors.bad(format!("{:<13}", "fails")),
    };
    let base = check.base.as_ref().map_or_else(|| "-".to_owned(), side);
    let head = check.head.as_ref().map_or_else(|| "-".to_owned(), side);
    let name = words::line(&check.name, 40);
    let line = format!("{name:<16}  {outcome}  {base:<26}  {head}");
    let mut text = format!("{}\n", line.trim_end());
    put_line!(text, "    $ {}", words::line(&check.command, 300));
    put_line!(text, "    {}", words::line(&check.sentence, 300));
    if !check.why.is_empty() {
        put_line!(text, "    why: {}", words::line(&check.why, 300));
    }
    let tests =
        check.tests.iter().map(|test| words::line(&format!("{}: {}", test.change, test.name), 300));
    let findings = check.findings.iter().map(|it| {
        let place = place(it.path.as_deref(), it.line);
        let rule = it.rule.as_ref().map(|rule| format!(" ({rule})")).unwrap_or_default();
        let compared = match (&it.expected, &it.actual) {
            (Some(expected), Some(actual)) => format!("; expected {expected}, got {actual}"),
            (Some(_) | None, _) => String::new(),
        };
        words::line(&format!("{}{place}: {}{rule}{compared}", it.tool, it.message), 300)
    });
    let told: Vec<String> = tests.chain(findings).collect();
    for line in told.iter().take(SHOWN) {
        put_line!(text, "    - {line}");
    }
    // Where nothing was understood, the end of what it printed has to do.
    let is_bare = told.is_empty() && check.blocks;
    if is_bare {
        let lines: Vec<&str> = check.log.trim_end().lines().collect();
        let last = lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or_default();
        for line in last {
            put_line!(text, "    | {}", words::line(line, 300));
        }
    }
    if let Some(more) = told.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        put_line!(text, "    [{more} more; `--json` has all of them]");
    }
    text
}

fn place(path: Option<&str>, line: Option<u32>) -> String {
    match (path, line) {
        (Some(path), Some(line)) => format!(" {path}:{line}"),
        (Some(path), None) => format!(" {path}"),
        (None, _) => String::new(),
    }
}

/// `passed: 12 passed, 1 skipped, 3s`
fn side(side: &CheckSide) -> String {
    let CheckSide { ended, passed, failed, skipped, errors, millis } = side;
    let counts =
        [(*passed, "passed"), (*failed, "failed"), (*skipped, "skipped"), (*errors, "errors")];
    let told: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let took = words::took(std::time::Duration::from_millis(*millis));
    if told.is_empty() {
        return words::line(&format!("{ended}, {took}"), 80);
    }
    words::line(&format!("{ended}: {}, {took}", told.join(", ")), 80)
}

#[cfg(test)]
mod tests {
    use wire::task::checks::{
        ChangedCoverage, CheckFinding, TestOfNote, WeakenedClass, WeakenedTest,
    };

    use super::*;
    use crate::timeline::samples;

    fn sides(ended: &str, passed: u64, failed: u64) -> CheckSide {
        let ended = ended.to_owned();
        CheckSide { ended, passed, failed, skipped: 0, errors: 0, millis: 2_100 }
    }

    fn check(name: &str, outcome: CheckOutcome) -> CheckVerdict {
        CheckVerdict {
            name: name.to_owned(),
            kind: "test".to_owned(),
            command: format!("make {name}"),
            directory: String::new(),
            file: "Makefile".to_owned(),
            why: "CI runs it (`ci.yml`, line 3)".to_owned(),
            outcome,
            sentence: "it passes, as before".to_owned(),
            blocks: false,
            base: None,
            head: Some(sides("passed", 0, 0)),
            tests: Vec::new(),
            findings: Vec::new(),
            log: String::new(),
        }
    }

    #[test]
    fn checks_are_a_table_of_base_against_change() {
        let finding = CheckFinding {
            tool: "pytest".to_owned(),
            rule: None,
            test: Some("test_login".to_owned()),
            path: Some("tests/test_login.py".to_owned()),
            line: Some(12),
            message: "assert \u{1b}[31mFalse".to_owned(),
            expected: Some("2".to_owned()),
            actual: Some("3".to_owned()),
        };
        let test = TestOfNote { name: "test_login".to_owned(), change: "regression".to_owned() };
        let failing = CheckVerdict {
            sentence: "a test fails that passed before".to_owned(),
            blocks: true,
            base: Some(sides("passed", 12, 0)),
            head: Some(sides("failed with 1", 11, 1)),
            tests: vec![test; 30],
            findings: vec![finding],
            ..check("test", CheckOutcome::Regressed)
        };
        let odd = CheckVerdict {
            sentence: "it fails".to_owned(),
            blocks: true,
            head: Some(sides("failed with 2", 0, 0)),
            log: "first\nlast \u{1b}[2Jwords\n".to_owned(),
            ..check("build", CheckOutcome::Unjudged)
        };
        let checks = shape::Checks {
            commit: samples::COMMIT.to_owned(),
            base: samples::HASH.to_owned(),
            at: samples::at(100),
            conclusion: Conclusion::Fails,
            checks: vec![failing, odd, check("lint", CheckOutcome::Passed)],
            weakened: vec![WeakenedTest {
                class: WeakenedClass::Deleted,
                kind: "a test was deleted".to_owned(),
                path: Some("tests/old.py".to_owned()),
                line: None,
                what: "test_logout".to_owned(),
            }],
            weakened_left_off: 2,
            left_out: vec![wire::task::checks::LeftOutCheck {
                command: "cargo miri test".to_owned(),
                file: "ci.yml".to_owned(),
                reason: "it needs another toolchain".to_owned(),
            }],
            coverage: Some(ChangedCoverage { covered: 3, missed: 1 }),
        };
        insta::assert_snapshot!(page(&checks, Colors::OFF));
        let none = shape::Checks {
            conclusion: Conclusion::Unproven,
            checks: Vec::new(),
            weakened: Vec::new(),
            weakened_left_off: 0,
            left_out: Vec::new(),
            coverage: None,
            ..checks
        };
        insta::assert_snapshot!(page(&none, Colors::OFF));
    }
}
