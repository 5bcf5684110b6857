//! `lamp checks`

use std::io::Write;

use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::task::checks::{
    self as shape, CheckFinding, CheckOutcome, CheckSide, CheckVerdict, Severity, TestOfNote,
};

use super::{World, named::Named};
use crate::timeline::{headline, put::put_line, words};

/// Findings and tests of one check that are shown.
const SHOWN: usize = 20;
/// Characters of a line: what every terminal has.
const WIDTH: usize = 80;
/// Characters of what a tool said.
const SAID: usize = 300;

/// Show what the platform's own checks found, on the base and on the change
///
/// What an agent says about tests does not count: the checks are run on the exact commit, in a clean sandbox. Ends with 0 when they passed or nothing
/// got worse, with 1 when they failed, and with 6 when nothing was proven.
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
        Ok(headline::exit(checks.conclusion))
    }
}

fn page(checks: &shape::Checks, colors: Colors) -> String {
    let mut text = format!("{}.\n", headline::coloured(&checks.headline, colors));
    text.push_str(&headline::advice(&checks.headline, "  ! "));
    let (commit, base) = (words::short(&checks.commit), words::short(&checks.base));
    put_line!(text, "Commit {commit}, compared with {base}.");
    if let Some(reason) = &checks.unready {
        put_line!(text, "What the project needs was not installed: {}", words::line(reason, 400));
    }
    // What is wrong is looked for first.
    let mut ordered: Vec<&CheckVerdict> = checks.checks.iter().collect();
    ordered.sort_by_key(|check| rank(check.outcome));
    for check in ordered {
        text.push('\n');
        text.push_str(&block(check, colors));
    }
    if !checks.weakened.is_empty() {
        text.push_str("\nTests that were made weaker:\n");
    }
    for test in &checks.weakened {
        let place = place(test.path.as_deref(), test.line);
        let words = format!("{}{place}: {}", test.kind, test.what);
        put_line!(text, "  ! {}", words::line(&words, SAID));
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

const fn rank(outcome: CheckOutcome) -> u8 {
    match outcome {
        CheckOutcome::Regressed | CheckOutcome::Unjudged => 0,
        CheckOutcome::NotRun => 1,
        CheckOutcome::Gone | CheckOutcome::KnownFailure => 2,
        CheckOutcome::Flaky => 3,
        CheckOutcome::Fixed | CheckOutcome::Passed => 4,
    }
}

/// A check below the other, and not beside: commands and figures have no width that could be known.
fn block(check: &CheckVerdict, colors: Colors) -> String {
    let word = |word: &str| format!("{word:<13}");
    let outcome = match check.outcome {
        CheckOutcome::Passed => colors.good(word("passed")),
        CheckOutcome::Fixed => colors.good(word("fixed")),
        CheckOutcome::Gone => colors.warning(word("gone")),
        CheckOutcome::Flaky => colors.warning(word("flaky")),
        CheckOutcome::KnownFailure => colors.warning(word("known failure")),
        CheckOutcome::Regressed => colors.bad(word("worse")),
        CheckOutcome::NotRun => colors.warning(word("not run")),
        CheckOutcome::Unjudged => colors.bad(word("fails")),
    };
    let mut text = format!("{outcome}  {}\n", words::line(&check.name, WIDTH - 15));
    for line in wrapped(&words::line(&check.command, SAID), WIDTH - 6) {
        put_line!(text, "    {}{line}", if text.contains("    $ ") { "  " } else { "$ " });
    }
    let ran = |it: Option<&CheckSide>| it.map_or_else(|| "not run".to_owned(), side);
    put_line!(text, "    before  {}", ran(check.base.as_ref()));
    put_line!(text, "    now     {}", ran(check.head.as_ref()));
    let sentence = words::line(&check.sentence, SAID);
    if sentence != outcome_word(check.outcome) {
        put_line!(text, "    {sentence}");
    }
    if !check.why.is_empty() {
        for line in wrapped(&words::line(&format!("why: {}", check.why), SAID), WIDTH - 4) {
            put_line!(text, "    {line}");
        }
    }
    let told = told(check);
    for line in told.iter().take(SHOWN) {
        put_line!(text, "    - {line}");
    }
    if let Some(more) = told.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        put_line!(text, "    [{more} more; `--json` has all of them]");
    }
    let not_reached = check.tests.iter().filter(|test| test.change == NOT_REACHED).count();
    if not_reached > 0 {
        let tests = crate::amount::count(u64::try_from(not_reached).unwrap_or(u64::MAX), "test");
        put_line!(text, "    [{tests} not reached]");
    }
    // Where nothing was understood, the end of what it printed has to do.
    let is_open = check.blocks || check.outcome == CheckOutcome::NotRun;
    if told.is_empty() && is_open {
        let lines: Vec<&str> = check.log.trim_end().lines().collect();
        let last = lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or_default();
        for line in last {
            put_line!(text, "    | {}", words::line(line, SAID));
        }
    }
    text
}

/// Told as a number: where a compiler stops, every test of the suite is among them.
const NOT_REACHED: &str = "not reached";

const fn outcome_word(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Fixed => "fixed",
        CheckOutcome::Gone => "gone",
        CheckOutcome::Flaky => "flaky",
        CheckOutcome::KnownFailure => "known failure",
        CheckOutcome::Regressed => "worse",
        CheckOutcome::NotRun => "not run",
        CheckOutcome::Unjudged => "fails",
    }
}

/// What is to be read, the reason first: errors, then what became of tests, then what they said, then the rest.
fn told(check: &CheckVerdict) -> Vec<String> {
    let is_error = |it: &&CheckFinding| it.severity == Some(Severity::Error);
    let is_good = matches!(check.outcome, CheckOutcome::Passed | CheckOutcome::Fixed);
    // What a check that passes has to complain about, it had before.
    let is_told = |it: &&CheckFinding| match it.severity {
        Some(Severity::Warning | Severity::Note) => !is_good,
        Some(Severity::Error | Severity::Failure) | None => true,
    };
    let errors = check.findings.iter().filter(is_error).map(finding);
    let tests = check.tests.iter().filter(|test| test.change != NOT_REACHED).map(test);
    let others = check.findings.iter().filter(|it| !is_error(it)).filter(is_told).map(finding);
    errors.chain(tests).chain(others).collect()
}

fn test(test: &TestOfNote) -> String {
    words::line(&format!("{}: {}", test.change, test.name), SAID)
}

fn finding(it: &CheckFinding) -> String {
    let place = place(it.path.as_deref(), it.line);
    let rule = it.rule.as_ref().map(|rule| format!(" ({rule})")).unwrap_or_default();
    let compared = match (&it.expected, &it.actual) {
        (Some(expected), Some(actual)) => format!("; expected {expected}, got {actual}"),
        (Some(_) | None, _) => String::new(),
    };
    let severity = match it.severity {
        Some(Severity::Error) => "error, ",
        Some(Severity::Warning) => "warning, ",
        Some(Severity::Note) => "note, ",
        Some(Severity::Failure) | None => "",
    };
    words::line(&format!("{severity}{}{place}: {}{rule}{compared}", it.tool, it.message), SAID)
}

fn place(path: Option<&str>, line: Option<u32>) -> String {
    match (path, line) {
        (Some(path), Some(line)) => format!(" {path}:{line}"),
        (Some(path), None) => format!(" {path}"),
        (None, _) => String::new(),
    }
}

/// Lines of at most so many characters, broken between words where there are some.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let Some(line) = lines.last_mut() else { break };
            let has = line.chars().count();
            let gap = usize::from(has > 0);
            if has + gap + rest.len() <= most {
                line.push_str(if gap > 0 { " " } else { "" });
                line.extend(rest.drain(..));
            } else if has > 0 {
                lines.push(String::new());
            } else {
                let part = rest.len().min(most);
                line.extend(rest.drain(..part));
            }
        }
    }
    lines
}

/// `passed: 12 passed, 1 skipped, 3s`
fn side(side: &CheckSide) -> String {
    let CheckSide { ended, not_run, passed, failed, skipped, errors, millis } = side;
    if *not_run {
        return words::line(&format!("not run: {ended}"), WIDTH - 12);
    }
    let counts =
        [(*passed, "passed"), (*failed, "failed"), (*skipped, "skipped"), (*errors, "errors")];
    let told: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let took = words::took(std::time::Duration::from_millis(*millis));
    if told.is_empty() {
        return words::line(&format!("{ended}, {took}"), WIDTH - 12);
    }
    words::line(&format!("{ended}: {}, {took}", told.join(", ")), WIDTH - 12)
}

#[cfg(test)]
mod tests {
    use wire::task::checks::{ChangedCoverage, Conclusion, WeakenedClass, WeakenedTest};

    use super::*;
    use crate::timeline::samples;

    fn sides(ended: &str, passed: u64, failed: u64) -> CheckSide {
        let ended = ended.to_owned();
        CheckSide { ended, not_run: false, passed, failed, skipped: 0, errors: 0, millis: 2_100 }
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
            severity: Some(Severity::Failure),
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
            headline: samples::headline(Conclusion::Fails),
            checks: vec![failing, odd, check("lint", CheckOutcome::Passed)],
            weakened: vec![WeakenedTest {
                class: WeakenedClass::Deleted,
                kind: "a test was deleted".to_owned(),
                path: Some("tests/old.py".to_owned()),
                line: None,
                what: "test_logout".to_owned(),
            }],
            weakened_left_off: 2,
            unready: None,
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
            headline: samples::headline(Conclusion::Unproven),
            checks: Vec::new(),
            weakened: Vec::new(),
            weakened_left_off: 0,
            unready: Some("the setup failed: npm error 404 (it ended with 1)".to_owned()),
            left_out: Vec::new(),
            coverage: None,
            ..checks
        };
        insta::assert_snapshot!(page(&none, Colors::OFF));
    }

    fn said(severity: Severity, message: &str) -> CheckFinding {
        CheckFinding {
            severity: Some(severity),
            tool: "rustc".to_owned(),
            rule: None,
            test: None,
            path: Some("src/lib.rs".to_owned()),
            line: Some(3),
            message: message.to_owned(),
            expected: None,
            actual: None,
        }
    }

    #[test]
    fn the_error_comes_before_all_that_follows_from_it() {
        let tests = (0..76).map(|number| TestOfNote {
            name: format!("test_{number}"),
            change: "not reached".to_owned(),
        });
        let warnings = (0..30).map(|_| said(Severity::Warning, "unused"));
        let broken = CheckVerdict {
            blocks: true,
            tests: tests.collect(),
            findings: [said(Severity::Error, "no method named `set_leen`")]
                .into_iter()
                .chain(warnings.clone())
                .collect(),
            ..check("test", CheckOutcome::Regressed)
        };
        let told = block(&broken, Colors::OFF);
        let first = told.lines().find(|line| line.starts_with("    - ")).unwrap();
        assert!(first.contains("error, rustc src/lib.rs:3: no method named"), "{told}");
        assert!(told.contains("[76 tests not reached]"), "{told}");
        let good =
            CheckVerdict { findings: warnings.collect(), ..check("lint", CheckOutcome::Passed) };
        assert!(!block(&good, Colors::OFF).contains("unused"), "what was there before");
    }

    #[test]
    fn no_line_of_a_check_is_wider_than_a_terminal() {
        let command =
            format!("RUSTFLAGS=--cfg {} cargo test {}", "x".repeat(200), "-q ".repeat(20));
        let long = CheckVerdict {
            command,
            base: Some(sides("exit code 101", 1_234_567, 1_234_567)),
            ..check(&"a very long name ".repeat(9), CheckOutcome::KnownFailure)
        };
        let told = block(&long, Colors::OFF);
        for line in told.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        let command: Vec<&str> = told.lines().skip(1).take(5).collect();
        assert!(command.concat().contains("-q -q"), "{told}");
    }
}
