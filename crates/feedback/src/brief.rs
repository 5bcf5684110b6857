//! The text that goes back to an agent: the most useful findings first, within a limit, and what was left off.

use std::fmt::Write as _;

use crate::{
    finding::{Finding, Kind},
    output::start,
    report::Report,
};

/// Lines of details that are shown with a finding.
const DETAIL_LINES: usize = 12;
/// Lines of details that are looked at to find these.
const LOOKED_AT: usize = 100;
/// Lines of a message, and of each side of a comparison.
const MESSAGE_LINES: usize = 6;
/// Findings of one rule that are shown in full; more of the same are counted.
const SAME_RULE: usize = 5;
/// Kept for the sentence about what was left off.
const ENDING_BYTES: usize = 160;

impl Report {
    /// What an agent has to know to mend this, in at most `limit` bytes.
    ///
    /// Errors come before failures, and both before warnings: code that does not build explains failing tests. What has a place in the
    /// workspace comes before what has none. Many findings of one rule are shown a few times.
    pub fn brief(&self, limit: usize) -> String {
        let mut brief = self.headline();
        let mut findings: Vec<&Finding> =
            self.findings().iter().filter(|finding| finding.kind != Kind::Note).collect();
        findings.sort_by_key(|finding| (finding.kind, finding.place.file().is_none()));
        let mut shown = 0_usize;
        let mut alike: std::collections::BTreeMap<_, usize> = std::collections::BTreeMap::new();
        for finding in &findings {
            if let Some(rule) = &finding.rule {
                let count = alike.entry((finding.tool.clone(), rule.clone())).or_default();
                *count += 1;
                if *count > SAME_RULE {
                    continue;
                }
            }
            let text = paragraph(finding);
            if brief.len() + text.len() + ENDING_BYTES > limit {
                // A long one must not keep shorter ones out, but its first line says most of it.
                let line = text.lines().next().unwrap_or_default();
                if brief.len() + line.len() + 2 + ENDING_BYTES > limit {
                    break;
                }
                brief.push('\n');
                brief.push_str(line);
            } else {
                brief.push('\n');
                brief.push_str(&text);
            }
            shown += 1;
        }
        self.ending(&mut brief, findings.len() - shown);
        let end = start(&brief, limit).len();
        brief.truncate(end);
        brief
    }

    /// `3 errors, 1 warning; tests: 2 passed, 1 failed, 0 skipped`
    fn headline(&self) -> String {
        let counts = self.counts();
        let mut line =
            format!("{}, {}", counted(counts.errors, "error"), counted(counts.warnings, "warning"));
        let tests = counts.tests;
        if tests != crate::report::Tally::default() {
            let _ = write!(
                line,
                "; tests: {} passed, {} failed, {} skipped",
                tests.passed, tests.failed, tests.skipped
            );
        }
        line.push('\n');
        line
    }

    fn ending(&self, brief: &mut String, not_shown: usize) {
        let left_off = self.left_off();
        let not_shown =
            u64::try_from(not_shown).unwrap_or(u64::MAX).saturating_add(left_off.findings);
        if not_shown > 0 {
            let _ = write!(brief, "\nLeft off: {}.", counted(not_shown, "more finding"));
        }
        if left_off.bytes > 0 {
            let _ = write!(
                brief,
                "\nNot looked at: {} in the middle of the output.",
                counted(left_off.bytes, "byte")
            );
        }
    }
}

fn counted(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// A finding as a person would write it down.
fn paragraph(finding: &Finding) -> String {
    let place = finding.place.to_string();
    let mut text = if place.is_empty() { String::new() } else { format!("{place}: ") };
    text.push_str(finding.kind.word());
    if let Some(rule) = &finding.rule {
        let _ = write!(text, " [{rule}]");
    }
    if let Some(test) = &finding.test {
        let _ = write!(text, " in `{test}`");
    }
    let _ = writeln!(
        text,
        ": {} ({})",
        first_lines(&finding.message, MESSAGE_LINES),
        finding.tool.name()
    );
    for (word, side) in [("expected", &finding.expected), ("actual", &finding.actual)] {
        if let Some(side) = side {
            let _ = writeln!(
                text,
                "  {word}: {}",
                first_lines(side, MESSAGE_LINES).replace('\n', "\n    ")
            );
        }
    }
    let details = finding.details.iter().flat_map(|details| details.lines());
    for line in details.take(LOOKED_AT).filter(|line| !is_said(line, finding)).take(DETAIL_LINES) {
        let _ = writeln!(text, "  | {line}");
    }
    text
}

/// Whether a line of the details says only what was said above it.
fn is_said(line: &str, finding: &Finding) -> bool {
    let bare = line.trim();
    let panic = bare.starts_with("thread '") && bare.contains("panicked at ");
    panic
        || bare.starts_with("--> ")
        || finding.message.contains(bare)
        || bare.ends_with(&*finding.message)
}

fn first_lines(text: &str, most: usize) -> String {
    let mut lines = text.lines();
    let mut kept: Vec<&str> = lines.by_ref().take(most).collect();
    if lines.next().is_some() {
        kept.push("…");
    }
    kept.join("\n")
}
