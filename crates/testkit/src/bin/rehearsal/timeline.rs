//! One event, as one line for a person; and a step, as a few words.

use domain::{
    id::PersonId,
    money::Money,
    task::{DoneBecause, Event, PauseReason, Step, Task, TimeUp, Verdict, WakeCause},
};
use testkit::{ann, bob};

use crate::paper::Ink;

/// What happened to a task that stood as `before` says, in words, and how it is meant.
pub(crate) fn words(before: Option<&Task>, event: &Event) -> (String, Ink) {
    let plain = |text: &str| (text.to_owned(), Ink::Plain);
    let good = |text: String| (text, Ink::Good);
    let bad = |text: String| (text, Ink::Bad);
    let person = |by: &PersonId, did: &str| (format!("{} {did}", name(*by)), Ink::Person);
    match event {
        Event::Requested { request, .. } => person(&request.author, "hands it over"),
        Event::Admitted => plain("gets a place from the queue"),
        Event::Prepared { sandbox } => match before.and_then(|task| task.workspace) {
            None => plain("a fresh sandbox is open"),
            Some(rested) if rested.sandbox == *sandbox => plain("its sandbox is awake again"),
            Some(_) => plain("a fresh sandbox is open; the one for research is thrown away"),
        },
        Event::QuestionAsked { question, .. } => {
            (format!("the agent asks: {}", question.text), Ink::Person)
        }
        Event::Answered { by, .. } => person(by, "answers; the task goes back to the queue"),
        Event::Researched { .. } => plain("the agent has read enough; its notes are kept"),
        Event::PlanSubmitted { plan, .. } => {
            (format!("the agent hands in plan {} and stops", plan.hash().short()), Ink::Person)
        }
        Event::Approved { plan, by, .. } => person(by, &format!("approves plan {}", plan.short())),
        Event::Rejected { by, comment, .. } => person(by, &format!("sends it back: {comment}")),
        Event::Implemented { commit, .. } => {
            let short: String = commit.as_str().chars().take(12).collect();
            (format!("the agent's change is taken out as commit {short}"), Ink::Plain)
        }
        Event::ChecksPassed { .. } => good("the checks pass, in a clean sandbox".to_owned()),
        Event::ChecksFailed { verdict, .. } => {
            bad(format!("the checks fail; {}", consequence(verdict)))
        }
        Event::ReviewPassed { .. } => {
            good("a second agent reviews it and finds nothing".to_owned())
        }
        Event::ReviewFoundFaults { verdict, .. } => {
            bad(format!("the reviewer finds faults; {}", consequence(verdict)))
        }
        Event::PullRequestOpened { number } => good(format!("pull request {number} is open")),
        Event::Woken { cause } => match cause {
            WakeCause::Comment { by, text } => person(by, &format!("comments: {text}")),
            WakeCause::FailedCheck { check } => bad(format!("the check `{check}` failed")),
        },
        Event::Messaged { by, text } => person(by, &format!("says: {text}")),
        Event::Amended { by, .. } => person(by, "amends the approval"),
        Event::BudgetRaised { by, to } => person(by, &format!("raises the budget to {to}")),
        Event::Charged { phase, cost, .. } => {
            let money = (cost.money > Money::ZERO).then(|| cost.money.to_string());
            let cpu = format!("{} ms of processor", cost.cpu_millis);
            let cpu = (cost.cpu_millis > 0).then_some(cpu);
            let used: Vec<String> = money.into_iter().chain(cpu).collect();
            (format!("the bill: {} ({phase})", used.join(" and ")), Ink::Quiet)
        }
        Event::Paused { why } => match why {
            PauseReason::Asked { by } => person(by, "pauses it"),
            PauseReason::Failure(failure) => bad(format!("pauses: {failure}")),
        },
        Event::Resumed { by } => person(by, "resumes it"),
        Event::Retried { by, from } => person(by, &format!("retries it from {from}")),
        Event::Done { because } => good(
            match because {
                DoneBecause::Merged => "merged",
                DoneBecause::PullRequestClosed => "the pull request was closed",
                DoneBecause::TakenOver => "taken over by hand",
            }
            .to_owned(),
        ),
        Event::Failed { failure } => bad(format!("fails: {failure}")),
        Event::Cancelled { by } => person(by, "cancels it"),
    }
}

/// Something that is still to be done.
pub(crate) fn to_do(step: Step) -> String {
    let words = match step {
        Step::Open => "open a sandbox",
        Step::Research => "research",
        Step::Plan => "plan",
        Step::Implement => "implement",
        Step::Verify => "verify",
        Step::Review => "review",
        Step::Deliver => "deliver",
        Step::Rest => "put the sandbox to sleep",
        Step::Close => "clean up",
        Step::Tell => "tell Ann",
        Step::TimeUp(TimeUp::Phase(phase)) => return format!("the timer of `{phase}`"),
        Step::TimeUp(TimeUp::Approval) => "the timer of the approval",
        Step::TimeUp(TimeUp::Answer) => "the timer of the answer",
    };
    words.to_owned()
}

fn consequence(verdict: &Verdict) -> String {
    match verdict {
        Verdict::GoesOn => "the agent gets the findings and tries again".to_owned(),
        Verdict::Stops(failure) => format!("it asks for help: {failure}"),
    }
}

fn name(person: PersonId) -> String {
    if person == ann().id {
        return "Ann".to_owned();
    }
    if person == bob().id {
        return "Bob".to_owned();
    }
    person.to_string()
}
