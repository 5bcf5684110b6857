//! What the demo shows of a task: its plan, its checks, its review, its pull request, and what it took.

use std::io::{self, Write};

use terminal::colors::Colors;
use wire::{
    pull::Pull,
    task::{
        checks::{CheckSide, Checks, Conclusion},
        plan::Plan,
        review::TaskReview,
        usage::TaskUsage,
    },
};

use super::{
    stage::{Stage, Stopwatch, seconds},
    voice::{clean, shortened},
};

/// Lines of a pull request's text that are shown.
const BODY_LINES: usize = 50;

pub(crate) fn plan(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    let hash: String = plan.hash.chars().take(12).collect();
    writeln!(out, "    The plan, {}:", shortened(&hash))?;
    row("what", [plan.summary.as_str()], out)?;
    let files = plan.files.iter().map(|file| format!("{}: {}", file.path, file.why));
    row("files", files, out)?;
    row("tests", &plan.tests, out)?;
    row("then", [plan.expected_behaviour.as_str()], out)?;
    row("commands", &plan.commands, out)?;
    row("hosts", &plan.hosts, out)?;
    row("risks", &plan.risks, out)?;
    let time = plan.estimate.seconds.map(|seconds| format!("{} min", seconds.div_ceil(60)));
    let cost = plan.estimate.cost.as_ref().map(|cost| cost.text.clone());
    let known: Vec<String> = time.into_iter().chain(cost).collect();
    let estimate = if known.is_empty() { "not known".to_owned() } else { known.join(", ") };
    row("estimate", [estimate], out)
}

/// A word, and what belongs to it on lines of their own.
fn row<T: AsRef<str>>(
    name: &str,
    texts: impl IntoIterator<Item = T>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut texts = texts.into_iter().peekable();
    if texts.peek().is_none() {
        return writeln!(out, "      {name:<9} none");
    }
    for (at, text) in texts.enumerate() {
        let name = if at == 0 { name } else { "" };
        writeln!(out, "      {name:<9} {}", shortened(text.as_ref()))?;
    }
    Ok(())
}

pub(crate) fn checks(checks: &Checks, colors: Colors, out: &mut impl Write) -> io::Result<()> {
    let side = |side: Option<&CheckSide>| side.map_or("not run".to_owned(), told);
    for check in &checks.checks {
        let (command, sentence) = (shortened(&check.command), shortened(&check.sentence));
        writeln!(out, "    `{command}`: {sentence}")?;
        writeln!(out, "      before  {}", side(check.base.as_ref()))?;
        writeln!(out, "      after   {}", side(check.head.as_ref()))?;
        for test in &check.tests {
            let (change, name) = (shortened(&test.change), shortened(&test.name));
            writeln!(out, "      {change:<13} {name}")?;
        }
    }
    for weakened in &checks.weakened {
        writeln!(out, "    {}", colors.warning(shortened(&weakened.what)))?;
    }
    let told = shortened(&format!("Checks: {}.", checks.headline.sentence));
    match checks.conclusion {
        Conclusion::Passes => writeln!(out, "    {}", colors.good(told)),
        Conclusion::Fails => writeln!(out, "    {}", colors.bad(told)),
        Conclusion::NothingWorse | Conclusion::Unproven => {
            writeln!(out, "    {}", colors.warning(told))
        }
    }
}

fn told(side: &CheckSide) -> String {
    let counts = [
        (side.passed, "passed"),
        (side.failed, "failed"),
        (side.skipped, "skipped"),
        (side.errors, "errors"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let ended = shortened(&side.ended);
    if counts.is_empty() { ended } else { format!("{ended} ({})", counts.join(", ")) }
}

pub(crate) fn review(review: &TaskReview, colors: Colors, out: &mut impl Write) -> io::Result<()> {
    if review.findings.is_empty() && review.passed {
        return writeln!(out, "    {}", colors.good("The reviewer found nothing wrong."));
    }
    for finding in &review.findings {
        let place = shortened(&format!("{}:{}", finding.path, finding.line));
        writeln!(out, "    {place}: {}", shortened(&finding.what))?;
        writeln!(out, "      shown by {}", shortened(&finding.failing_input))?;
    }
    let told = match review.findings.len() {
        1 => "The reviewer found one fault.".to_owned(),
        count => format!("The reviewer found {count} faults."),
    };
    writeln!(out, "    {}", colors.warning(told))
}

pub(crate) fn pull(pull: &Pull, colors: Colors, out: &mut impl Write) -> io::Result<()> {
    let Pull { number, title, branch, base, body, .. } = pull;
    let title = shortened(title);
    writeln!(out, "  {}", colors.strong(format!("Pull request #{number}: {title}")))?;
    writeln!(out, "    branch `{}`, to be merged into `{}`", shortened(branch), shortened(base))?;
    let body = clean(body);
    let lines: Vec<&str> = body.trim().lines().collect();
    // What a page folds away, a terminal leaves out.
    let folded = lines.iter().position(|line| line.starts_with("<details>"));
    let shown = folded.unwrap_or(lines.len()).min(BODY_LINES);
    for line in lines.iter().take(shown) {
        writeln!(out, "{}", format!("    | {line}").trim_end())?;
    }
    if lines.len() > shown {
        let more = lines.len() - shown;
        writeln!(out, "    | [{more} more lines]")?;
    }
    Ok(())
}

pub(crate) fn usage(usage: &TaskUsage, watch: &Stopwatch, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  {:<10} {:>8} {:>8} {:>9}", "phase", "time", "tokens", "cost")?;
    for stage in Stage::ALL {
        let Some(millis) = watch.millis(stage) else { continue };
        let spent = usage.phases.iter().find(|it| it.phase == stage.name()).map(|it| &it.spent);
        let tokens = spent.map_or(0, |spent| spent.input_tokens + spent.output_tokens);
        let cost = spent.map_or("$0.00", |spent| spent.money.text.as_str());
        let line = format!("{:<10} {:>8} {tokens:>8} {cost:>9}", stage.name(), seconds(millis));
        writeln!(out, "  {line}")?;
    }
    let total = &usage.total;
    let tokens = total.input_tokens + total.output_tokens;
    let (time, cost) = (seconds(watch.total()), &total.money.text);
    writeln!(out, "  {:<10} {time:>8} {tokens:>8} {cost:>9}", "together")
}

#[cfg(test)]
mod tests;
