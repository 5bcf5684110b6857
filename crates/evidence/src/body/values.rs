//! What a template gets: every text already made harmless, every figure already in words.

use domain::{approval::Conditions, time::Timestamp};
use serde::Serialize;

use super::{
    Coverage, PullRequest, Words,
    markdown::{Keep, fenced, inline, quote},
};
use crate::{
    link::Link,
    receipt::{
        AgentRun, Check, Counts, Flag, FollowUp, Receipt, Statement, Verdict, Who,
        spelling::instant,
    },
};

/// How much of the usual room there is: a text that was too long is made again with less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    All,
    Half,
    Eighth,
    /// Figures, and a line of everything else.
    Least,
}

impl Room {
    pub(super) const FROM_LARGE_TO_SMALL: [Self; 4] =
        [Self::All, Self::Half, Self::Eighth, Self::Least];

    const fn of(self, usual: usize) -> usize {
        match self {
            Self::All => usual,
            Self::Half => usual / 2,
            Self::Eighth => usual / 8,
            Self::Least => usual / 40,
        }
    }
}

/// Usual bytes of long texts, and items of lists. Together they stay below what a forge takes.
const SUMMARY: usize = 6 * 1024;
const WHY: usize = 6 * 1024;
const LOG: usize = 6 * 1024;
const REASONING: usize = 12 * 1024;
const CHECKS: usize = 60;
const ITEMS: usize = 30;
/// Bytes of one item, and of one name.
const ITEM: usize = 300;
const NAME: usize = 100;

#[derive(Debug, Default, Serialize)]
pub(super) struct Values {
    pub(super) summary: String,
    pub(super) why: String,
    pub(super) requested_by: String,
    pub(super) plan: PlanValues,
    pub(super) headline: String,
    pub(super) warning: String,
    pub(super) next: Items,
    pub(super) tests: Items,
    pub(super) checks: Vec<CheckValues>,
    pub(super) checks_left_off: usize,
    pub(super) coverage: String,
    pub(super) review: ReviewValues,
    pub(super) follow_ups: Items,
    pub(super) risks: Items,
    pub(super) refused_hosts: Items,
    pub(super) flags: Items,
    pub(super) egress: String,
    pub(super) log: String,
    pub(super) reasoning: String,
    pub(super) cost: String,
    pub(super) tokens: String,
    pub(super) worked: String,
    pub(super) agent: String,
    pub(super) reviewer: String,
    pub(super) task: String,
    pub(super) commit: String,
    pub(super) base: String,
    pub(super) image: String,
    pub(super) policy: String,
    pub(super) receipt: String,
    pub(super) lamplighter: String,
    pub(super) links: LinkValues,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct PlanValues {
    pub(super) hash: String,
    pub(super) short: String,
    pub(super) approved_by: String,
    pub(super) approved_at: String,
    pub(super) conditions: Vec<String>,
    pub(super) amendments: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct CheckValues {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) base: String,
    pub(super) head: String,
    pub(super) verdict: String,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct ReviewValues {
    pub(super) outcome: String,
    pub(super) rounds: u64,
    pub(super) fixed: u64,
    pub(super) open: u64,
    pub(super) dismissed: u64,
    pub(super) findings: Items,
    pub(super) dismissals: Items,
}

/// Texts, and how many are not among them.
#[derive(Debug, Default, Serialize)]
pub(super) struct Items {
    pub(super) texts: Vec<String>,
    pub(super) left_off: u64,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct LinkValues {
    pub(super) task: String,
    pub(super) sandbox: String,
    pub(super) log: String,
    pub(super) reasoning: String,
}

/// Everything, within `room`.
pub(super) fn values(request: &PullRequest<'_>, room: Room) -> Values {
    let Statement { commit, receipt, .. } = request.statement;
    let words = &request.words;
    let link = |link: Option<&Link>| link.map(ToString::to_string).unwrap_or_default();
    let checks: Vec<CheckValues> =
        receipt.checks.iter().take(room.of(CHECKS).max(5)).map(check).collect();
    Values {
        summary: quote(words.summary, room.of(SUMMARY)),
        why: quote(words.why, room.of(WHY)),
        requested_by: name(&receipt.request.author),
        plan: plan(receipt, room),
        headline: sentence(&receipt.headline().to_string()),
        warning: receipt.headline().warning().map(|it| sentence(&it)).unwrap_or_default(),
        next: items(words.next.iter().map(String::as_str), room),
        tests: tests(words, room),
        checks_left_off: receipt.checks.len() - checks.len(),
        checks,
        coverage: request.coverage.map(coverage).unwrap_or_default(),
        review: review(receipt, words, room),
        follow_ups: follow_ups(receipt, room),
        risks: items(words.risks.iter().map(String::as_str), room),
        refused_hosts: refused_hosts(receipt, room),
        flags: flags(receipt, words, room),
        egress: egress(receipt),
        log: block_of(words.log, room.of(LOG), Keep::End),
        reasoning: block_of(words.reasoning, room.of(REASONING), Keep::Beginning),
        cost: inline(&receipt.cost.money.to_string(), NAME),
        tokens: format!(
            "{} tokens in, {} out",
            grouped(receipt.cost.input_tokens),
            grouped(receipt.cost.output_tokens)
        ),
        worked: duration(receipt.time.worked_millis),
        agent: agent(&receipt.agent),
        reviewer: receipt.reviewer.as_ref().map(agent).unwrap_or_default(),
        task: receipt.task.to_string(),
        commit: commit.to_string(),
        base: receipt.base.to_string(),
        image: receipt.image.to_string(),
        policy: receipt.policy.digest.to_string(),
        receipt: request.receipt.to_string(),
        lamplighter: inline(&receipt.lamplighter, NAME),
        links: LinkValues {
            task: link(request.links.task),
            sandbox: link(request.links.sandbox),
            log: link(request.links.log),
            reasoning: link(request.links.reasoning),
        },
    }
}

fn name(who: &Who) -> String {
    format!("{} (`{}`)", inline(&who.name, NAME), who.id)
}

fn plan(receipt: &Receipt, room: Room) -> PlanValues {
    let approval = &receipt.approval;
    let amendments = approval.amendments.iter().map(|amended| {
        let by = name(&amended.by);
        format!(
            "{by} at {}: {}",
            time(amended.at),
            conditions(&amended.conditions, room).join("; ")
        )
    });
    PlanValues {
        hash: receipt.plan.to_string(),
        short: receipt.plan.short(),
        approved_by: name(&approval.by),
        approved_at: time(approval.at),
        conditions: conditions(&approval.conditions, room),
        amendments: amendments.take(room.of(ITEMS).max(1)).collect(),
    }
}

/// What the approver allowed, one clause each.
fn conditions(conditions: &Conditions, room: Room) -> Vec<String> {
    let Conditions { paths, hosts, commands, budget, time } = conditions;
    let only = |what: &str, names: Option<&std::collections::BTreeSet<String>>| {
        let names = names?;
        if names.is_empty() {
            return Some(format!("no {what}"));
        }
        let most = room.of(20).max(3);
        let mut listed: Vec<String> = names.iter().take(most).map(|it| inline(it, NAME)).collect();
        if names.len() > most {
            listed.push(format!("and {} more", names.len() - most));
        }
        Some(format!("only the {what} {}", listed.join(", ")))
    };
    let clauses = [
        only("paths", paths.as_ref()),
        only("hosts", hosts.as_ref()),
        only("commands", commands.as_ref()),
        budget.map(|money| format!("at most {}", inline(&money.to_string(), NAME))),
        time.map(|time| {
            let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            format!("at most {}", duration(millis))
        }),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    if clauses.is_empty() { vec!["what the policy allows".to_owned()] } else { clauses }
}

fn check(check: &Check) -> CheckValues {
    CheckValues {
        name: inline(&check.name, NAME),
        command: inline(&check.command, NAME),
        base: check.base.as_ref().map_or_else(|| "not run".to_owned(), counts),
        head: match check.verdict {
            Verdict::NotRun => "not run".to_owned(),
            Verdict::Passed
            | Verdict::Fixed
            | Verdict::Gone
            | Verdict::Regression
            | Verdict::KnownFailure
            | Verdict::Flaky
            | Verdict::Failed => counts(&check.head),
        },
        verdict: check.verdict.name().to_owned(),
    }
}

fn counts(counts: &Counts) -> String {
    let Counts { passed, failed, skipped, millis } = *counts;
    let time = duration(millis);
    if passed == 0 && failed == 0 && skipped == 0 {
        return format!("no test counted, {time}");
    }
    format!(
        "{} passed, {} failed, {} skipped, {time}",
        grouped(passed),
        grouped(failed),
        grouped(skipped)
    )
}

/// A whole sentence, of words of ours.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    inline(&format!("{first}{}.", letters.as_str()), ITEM)
}

/// Names of tests are whatever the repository calls them.
fn tests(words: &Words<'_>, room: Room) -> Items {
    let mut named = items(words.tests.iter().map(String::as_str), room);
    named.left_off = named.left_off.saturating_add(words.tests_left_off);
    named
}

fn coverage(lines: Coverage) -> String {
    let Coverage { covered, missed } = lines;
    match covered.saturating_add(missed) {
        0 => "the changed lines are none that tests could run".to_owned(),
        all => format!(
            "tests run {} of the {} changed lines that they could run",
            grouped(covered),
            grouped(all)
        ),
    }
}

fn review(receipt: &Receipt, words: &Words<'_>, room: Room) -> ReviewValues {
    let review = &receipt.review;
    ReviewValues {
        outcome: review.outcome.name().to_owned(),
        rounds: review.rounds,
        fixed: review.fixed,
        open: review.open,
        dismissed: review.dismissed,
        findings: items(words.findings.iter().map(String::as_str), room),
        dismissals: items(words.dismissed.iter().map(String::as_str), room),
    }
}

fn refused_hosts(receipt: &Receipt, room: Room) -> Items {
    let refused = receipt.egress.hosts.iter().filter(|host| host.refused > 0);
    let texts: Vec<String> =
        refused.map(|host| format!("{} (requests {})", host.host, grouped(host.refused))).collect();
    items(texts.iter().map(String::as_str), room)
}

/// Who had the task go on after somebody had approved. Names are whatever they wrote.
fn follow_ups(receipt: &Receipt, room: Room) -> Items {
    let sentence = |it: &FollowUp| {
        let (kind, words) = (it.kind.name(), it.words.short());
        let unproven = if it.known { "" } else { "; so they call themselves, which is unproven" };
        format!("{kind}: {} (words {words}{unproven})", it.by)
    };
    let texts: Vec<String> = receipt.follow_ups.iter().map(sentence).collect();
    items(texts.iter().map(String::as_str), room)
}

/// Kind and path are attested. A sentence that does not name the path is about something else, and is not told.
fn flags(receipt: &Receipt, words: &Words<'_>, room: Room) -> Items {
    let sentence = |(at, flag): (usize, &Flag)| {
        let about = words.flags.get(at).filter(|it| it.contains(&flag.path));
        format!("{}: {}", flag.kind.name(), about.unwrap_or(&flag.path))
    };
    let texts: Vec<String> = receipt.flags.iter().enumerate().map(sentence).collect();
    items(texts.iter().map(String::as_str), room)
}

fn items<'a>(texts: impl ExactSizeIterator<Item = &'a str>, room: Room) -> Items {
    let most = room.of(ITEMS).max(3);
    let more = texts.len().saturating_sub(most);
    let left_off = u64::try_from(more).unwrap_or(u64::MAX);
    Items { texts: texts.take(most).map(|text| inline(text, ITEM)).collect(), left_off }
}

fn egress(receipt: &Receipt) -> String {
    let egress = &receipt.egress;
    let hosts = u64::try_from(egress.hosts.len()).unwrap_or(u64::MAX);
    let hosts = hosts.saturating_add(egress.hosts_left_off);
    format!(
        "requests {}, hosts {}, refused {}",
        grouped(egress.requests),
        grouped(hosts),
        grouped(egress.refused)
    )
}

fn block_of(text: &str, limit: usize, keep: Keep) -> String {
    if text.trim().is_empty() { String::new() } else { fenced(text, limit, keep) }
}

/// What is not known is not told: a program need not say which it is, and which models were asked is what the gateway saw.
fn agent(run: &AgentRun) -> String {
    let known = |texts: &[&str]| -> Vec<String> {
        let told = texts.iter().filter(|text| !text.is_empty());
        told.map(|text| inline(text, NAME)).collect()
    };
    let program = match known(&[&run.program, &run.version]) {
        nothing if nothing.is_empty() => String::new(),
        words => format!(" ({})", words.join(" ")),
    };
    let models: Vec<&str> = run.models.iter().take(5).map(String::as_str).collect();
    let models = match known(&models) {
        none if none.is_empty() => String::new(),
        models => format!(" with {}", models.join(", ")),
    };
    format!("{}{program}{models}", run.name)
}

fn time(at: Timestamp) -> String {
    let text = instant::written(at).unwrap_or_else(|| "an unknown time".to_owned());
    // People read minutes.
    match text.get(..16) {
        Some(minutes) if text.len() == 24 => format!("{} UTC", minutes.replace('T', " ")),
        Some(_) | None => text,
    }
}

/// `2 h 5 min`, `5 min`, `5 min 3 s`, `3.2 s`.
fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) => format!("{seconds}.{} s", millis % 1000 / 100),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{} h {minutes} min", grouped(hours)),
    }
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!([7, 1_000, 1_234_567].map(grouped), ["7", "1,000", "1,234,567"]);
        let times = [3_249, 303_000, 7_500_000, 0].map(duration);
        assert_eq!(times, ["3.2 s", "5 min 3 s", "2 h 5 min", "0.0 s"]);
        assert_eq!(time(Timestamp::from_millis(1_794_817_800_120)), "2026-11-16 08:30 UTC");
        assert_eq!(time(Timestamp::from_millis(i64::MAX)), "an unknown time");
    }
}
