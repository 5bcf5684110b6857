//! What happened to a task, as moments: what it is, how long it took, and a few words.
//!
//! How long something took is told from the moment before it that began or ended a phase; both are the server's times.

use std::time::Duration;

use wire::{
    task::{
        checks::{Conclusion, Headline},
        event::{Leftovers, PauseReason, RecordedEvent, TaskEvent, WakeCause},
        plan::Conditions,
        shown::{Failure, Question},
        usage::Spent,
    },
    time::Time,
};

use super::put::put_line;
use super::{headline, plan, words};

/// Characters of what somebody wrote.
const WIDTH: usize = 300;

/// How a moment is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Good,
    Bad,
    /// Somebody is waited for.
    Waits,
    Note,
    /// Of no interest on a terminal.
    Quiet,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) mark: Mark,
    /// The phase, or one word for what it is.
    pub(crate) what: &'static str,
    pub(crate) took: Option<Duration>,
    pub(crate) words: String,
    /// More lines, where one is not enough.
    pub(crate) body: String,
}

/// Tells events in their order.
#[derive(Debug, Default)]
pub(crate) struct Story {
    since: Option<Time>,
}

impl Story {
    pub(crate) fn tell(&mut self, recorded: &RecordedEvent) -> Moment {
        let since = self.since;
        if is_boundary(&recorded.event) {
            self.since = Some(recorded.at);
        }
        let mut moment = moment(&recorded.event);
        if ends_phase(&recorded.event) {
            moment.took = since.map(|since| words::between(since, recorded.at));
        }
        moment
    }
}

/// The stable name of an event, as the API writes it.
pub(crate) const fn kind(event: &TaskEvent) -> &'static str {
    match event {
        TaskEvent::Requested { .. } => "requested",
        TaskEvent::Admitted {} => "admitted",
        TaskEvent::Prepared { .. } => "prepared",
        TaskEvent::QuestionAsked { .. } => "question_asked",
        TaskEvent::Answered { .. } => "answered",
        TaskEvent::Researched { .. } => "researched",
        TaskEvent::PlanSubmitted { .. } => "plan_submitted",
        TaskEvent::Approved { .. } => "approved",
        TaskEvent::Rejected { .. } => "rejected",
        TaskEvent::Implemented { .. } => "implemented",
        TaskEvent::ChecksPassed { .. } => "checks_passed",
        TaskEvent::ChecksNotWorse { .. } => "checks_not_worse",
        TaskEvent::ChecksUnproven { .. } => "checks_unproven",
        TaskEvent::ChecksFailed { .. } => "checks_failed",
        TaskEvent::ReviewPassed { .. } => "review_passed",
        TaskEvent::ReviewFoundFaults { .. } => "review_found_faults",
        TaskEvent::FindingDismissed { .. } => "finding_dismissed",
        TaskEvent::PullRequestOpened { .. } => "pull_request_opened",
        TaskEvent::Woken { .. } => "woken",
        TaskEvent::Messaged { .. } => "messaged",
        TaskEvent::Amended { .. } => "amended",
        TaskEvent::BudgetRaised { .. } => "budget_raised",
        TaskEvent::Charged { .. } => "charged",
        TaskEvent::Paused { .. } => "paused",
        TaskEvent::Resumed { .. } => "resumed",
        TaskEvent::Retried { .. } => "retried",
        TaskEvent::Done { .. } => "done",
        TaskEvent::Failed { .. } => "failed",
        TaskEvent::Cancelled { .. } => "cancelled",
        TaskEvent::Unknown => "unknown",
    }
}

/// Whether a clock starts anew here.
const fn is_boundary(event: &TaskEvent) -> bool {
    !matches!(
        event,
        TaskEvent::Charged { .. }
            | TaskEvent::Messaged { .. }
            | TaskEvent::FindingDismissed { .. }
            | TaskEvent::Amended { .. }
            | TaskEvent::BudgetRaised { .. }
            | TaskEvent::Unknown
    )
}

/// Whether work ended here, of which one wants to know how long it took.
const fn ends_phase(event: &TaskEvent) -> bool {
    matches!(
        event,
        TaskEvent::Prepared { .. }
            | TaskEvent::Researched { .. }
            | TaskEvent::PlanSubmitted { .. }
            | TaskEvent::Implemented { .. }
            | TaskEvent::ChecksPassed { .. }
            | TaskEvent::ChecksNotWorse { .. }
            | TaskEvent::ChecksUnproven { .. }
            | TaskEvent::ChecksFailed { .. }
            | TaskEvent::ReviewPassed { .. }
            | TaskEvent::ReviewFoundFaults { .. }
            | TaskEvent::PullRequestOpened { .. }
    )
}

fn said(mark: Mark, what: &'static str, words: String) -> Moment {
    Moment { mark, what, took: None, words, body: String::new() }
}

/// What the setup did to the checkout, which is not the agent's work.
fn leftovers(left: &Leftovers) -> String {
    let names = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| words::line(name, WIDTH)).collect();
        names.join(", ")
    };
    let mut told = Vec::new();
    if !left.restored.is_empty() {
        told.push(format!("as in the commit again after the setup: {}", names(&left.restored)));
    }
    if !left.left.is_empty() {
        told.push(format!("left by the setup, not part of the change: {}", names(&left.left)));
    }
    if left.more > 0 {
        told.push(format!("and {} more", left.more));
    }
    told.iter().flat_map(|words| ["; ", words]).collect()
}

fn moment(event: &TaskEvent) -> Moment {
    use Mark::{Bad, Good, Note, Quiet, Waits};
    let text = |text: &str| words::line(text, WIDTH);
    let by = words::person;
    match event {
        TaskEvent::Requested { request, limits } => {
            let asked = format!("{} asked: {}", by(&request.author), text(&request.text));
            let budget = format!("  it may spend {}\n", text(&limits.budget.text));
            Moment { body: budget, ..said(Note, "request", asked) }
        }
        TaskEvent::Admitted {} => said(Quiet, "queue", "it has a place".to_owned()),
        TaskEvent::Prepared { sandbox, commit, left } => {
            let left = leftovers(left);
            said(Good, "prepare", format!("{} at {}{left}", text(sandbox), words::short(commit)))
        }
        TaskEvent::QuestionAsked { question, .. } => asked(question),
        TaskEvent::Answered { by: person, text: answer, .. } => {
            said(Note, "answer", format!("{}: {}", by(person), text(answer)))
        }
        TaskEvent::Researched { .. } => {
            said(Good, "research", "it has read what it needs".to_owned())
        }
        TaskEvent::PlanSubmitted { plan, .. } => {
            let words = format!("{}: {}", words::short(&plan.hash), text(&plan.summary));
            said(Good, "plan", words)
        }
        TaskEvent::Approved { plan, by: person, conditions } => {
            let words = format!("{} approved plan {}", by(person), words::short(plan));
            under(said(Good, "approve", words), conditions)
        }
        TaskEvent::Rejected { by: person, comment, .. } => {
            said(Bad, "reject", format!("{} sent the plan back: {}", by(person), text(comment)))
        }
        TaskEvent::Implemented { commit, .. } => {
            said(Good, "implement", format!("commit {}", words::short(commit)))
        }
        TaskEvent::ChecksPassed { headline: None, .. } => {
            said(Note, "verify", "no check stops this commit".to_owned())
        }
        TaskEvent::ChecksPassed { headline: Some(headline), .. }
        | TaskEvent::ChecksNotWorse { headline, .. }
        | TaskEvent::ChecksUnproven { headline, .. } => checked(headline),
        TaskEvent::ChecksFailed { stopped_by, .. } => {
            said(Bad, "verify", found("the checks fail", stopped_by.as_ref()))
        }
        TaskEvent::ReviewPassed { .. } => {
            said(Good, "review", "the review lets the change pass".to_owned())
        }
        TaskEvent::ReviewFoundFaults { stopped_by, .. } => {
            said(Bad, "review", found("the reviewer found faults", stopped_by.as_ref()))
        }
        TaskEvent::FindingDismissed { finding, by: person, why } => {
            let words = format!("{} dismissed finding {}", by(person), words::short(finding));
            let why = why.as_deref().map_or_else(String::new, |why| format!(": {}", text(why)));
            said(Note, "dismiss", format!("{words}{why}"))
        }
        TaskEvent::PullRequestOpened { number, .. } => {
            said(Good, "deliver", format!("pull request #{number}"))
        }
        TaskEvent::Woken { cause } => said(Note, "wake", woken(cause)),
        TaskEvent::Messaged { by: person, text: message } => {
            said(Note, "message", format!("{}: {}", by(person), text(message)))
        }
        TaskEvent::Amended { by: person, conditions } => {
            let words = format!("{} changed the conditions", by(person));
            under(said(Note, "amend", words), conditions)
        }
        TaskEvent::BudgetRaised { by: person, to } => {
            said(Note, "budget", format!("{} lets it spend {}", by(person), text(&to.text)))
        }
        TaskEvent::Charged { phase, cost, .. } => {
            said(Quiet, "charge", format!("{}: {}", text(phase), spent(cost)))
        }
        TaskEvent::Paused { why } => match why {
            PauseReason::Asked { by: person } => {
                said(Waits, "pause", format!("{} paused it", by(person)))
            }
            PauseReason::Failure { failure } => failed(Waits, "pause", failure),
        },
        TaskEvent::Resumed { by: person } => {
            said(Note, "resume", format!("{} lets it go on", by(person)))
        }
        TaskEvent::Retried { by: person, from } => {
            said(Note, "retry", format!("{} has it try again from {}", by(person), text(from)))
        }
        TaskEvent::Done { because } => said(Good, "done", done(because)),
        TaskEvent::Failed { failure } => failed(Bad, "failed", failure),
        TaskEvent::Cancelled { by: person } => {
            said(Bad, "cancelled", format!("{} ended it", by(person)))
        }
        TaskEvent::Unknown => {
            said(Note, "unknown", "something that this program is too old to know".to_owned())
        }
    }
}

/// That nothing failed is only something where something could have.
fn checked(headline: &Headline) -> Moment {
    let mark = match headline.conclusion {
        Conclusion::Passes => Mark::Good,
        Conclusion::NothingWorse | Conclusion::Unproven => Mark::Note,
        Conclusion::Fails => Mark::Bad,
    };
    let body = headline::advice(headline, "  ");
    Moment { body, ..said(mark, "verify", words::line(&headline.sentence, WIDTH)) }
}

fn asked(question: &Question) -> Moment {
    let mut body = String::new();
    for (choice, number) in question.choices.iter().zip(1..) {
        put_line!(body, "  {number}. {}", words::line(choice, WIDTH));
    }
    Moment { body, ..said(Mark::Waits, "question", words::line(&question.text, WIDTH)) }
}

fn woken(cause: &WakeCause) -> String {
    match cause {
        WakeCause::Comment { by, text } => {
            format!("{} commented: {}", words::person(by), words::line(text, WIDTH))
        }
        WakeCause::FailedCheck { check } => {
            format!("the check `{}` failed", words::line(check, WIDTH))
        }
        WakeCause::Remarks { remarks } => {
            let said = remarks.iter().map(|remark| {
                let text = words::line(&remark.text, WIDTH);
                let by = if remark.known {
                    words::line(&remark.by, 60)
                } else {
                    words::unproven(&remark.by)
                };
                format!("{by} said: {text}")
            });
            said.collect::<Vec<_>>().join("; ")
        }
    }
}

fn done(because: &str) -> String {
    match because {
        "merged" => "its pull request was merged".to_owned(),
        "pull_request_closed" => "its pull request was closed".to_owned(),
        "taken_over" => "somebody took its branch over".to_owned(),
        other => words::line(other, WIDTH),
    }
}

fn under(moment: Moment, conditions: &Conditions) -> Moment {
    Moment { body: plan::conditions(conditions), ..moment }
}

fn found(what: &str, stopped_by: Option<&Failure>) -> String {
    match stopped_by {
        None => format!("{what}; the agent is told, and tries again"),
        Some(failure) => format!("{what}, and it stops: {}", words::line(&failure.kind, 60)),
    }
}

fn failed(mark: Mark, what: &'static str, failure: &Failure) -> Moment {
    let told = failure_line(failure);
    Moment { body: failure_body(failure), ..said(mark, what, told) }
}

/// What went wrong, in a line.
pub(crate) fn failure_line(failure: &Failure) -> String {
    let Failure { kind, phase, message, .. } = failure;
    let text = |text: &str| words::line(text, WIDTH);
    format!("{} in {}: {}", text(kind), text(phase), text(message))
}

/// The end of the log, and what to do.
pub(crate) fn failure_body(failure: &Failure) -> String {
    let mut body = String::new();
    for line in &failure.last_lines {
        put_line!(body, "  | {}", words::line(line, WIDTH));
    }
    if !failure.remedy.trim().is_empty() {
        put_line!(body, "  what to do: {}", words::line(&failure.remedy, WIDTH));
    }
    body
}

/// Money and tokens, in a few words.
pub(crate) fn spent(spent: &Spent) -> String {
    let Spent { money, input_tokens, output_tokens, .. } = spent;
    let money = words::line(&money.text, 40);
    format!("{money}, {input_tokens} tokens in, {output_tokens} out")
}
