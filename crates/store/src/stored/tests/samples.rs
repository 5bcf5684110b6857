//! Known events: at least one of each kind, and each choice within them once.

use std::{collections::BTreeSet, time::Duration};

use domain::{
    approval::{Approvers, Conditions, FourEyes, GateRules},
    code::{Access, PullRequestNumber},
    cost::Cost,
    definition::Definition,
    digest::Digest,
    failure::{Failure, FailureKind},
    finding::FindingId,
    id::{PersonId, QuestionId, SandboxId, TaskId},
    limits::{Limits, PhaseTimes},
    money::Money,
    phase::Phase,
    plan::{Estimate, FileChange, Plan},
    progress::Footprint,
    question::Question,
    request::{ChannelKind, Quote, RepositoryUse, Request, Source},
    task::{
        DoneBecause, Event, Leftovers, PauseReason, Remark, RemarkKind, Speaker, Verdict, WakeCause,
    },
};

const ANN: PersonId = PersonId::from_u128(0x0192_f1a2_b3c4_7d5e_8f90_1234_5678_9abc);
const BOB: PersonId = PersonId::from_u128(0x0192_f1a2_b3c4_7d5e_8f90_1234_5678_9abd);
const QUESTION: QuestionId = QuestionId::from_u128(0x0192_f1a2_b3c4_7d5e_8f90_0000_0000_0001);

/// A file's name under `golden/v1`, or under that of its version, and the event that it holds. What follows a `-` tells events of one kind
/// apart.
pub(super) fn all() -> Vec<(&'static str, Event)> {
    let session = Some("session-7".to_owned());
    let evidence = Digest::of(b"evidence");
    let hash = plan().hash();
    vec![
        ("requested", Event::Requested { request: request(), limits: limits() }),
        ("requested-defined", Event::Requested { request: defined(), limits: limits() }),
        ("requested-plain", Event::Requested { request: plain(), limits: Limits::default() }),
        ("admitted", Event::Admitted),
        ("prepared", prepared(Leftovers::default())),
        ("prepared-left", prepared(leftovers())),
        ("question_asked", Event::QuestionAsked { question: question(), session: session.clone() }),
        ("answered", Event::Answered { question: QUESTION, by: ANN, text: "both".to_owned() }),
        ("researched", Event::Researched { notes: Digest::of(b"notes"), session: None }),
        ("plan_submitted", Event::PlanSubmitted { plan: plan(), session }),
        ("approved", Event::Approved { plan: hash, by: BOB, conditions: conditions() }),
        ("approved-plain", Event::Approved { plan: hash, by: BOB, conditions: open() }),
        ("rejected", Event::Rejected { plan: hash, by: BOB, comment: "use the clock".to_owned() }),
        (
            "implemented",
            Event::Implemented {
                base: commit(),
                commit: commit(),
                difference: Digest::of(b"change"),
                record: Digest::of(b"record"),
                session: None,
            },
        ),
        ("checks_passed", Event::ChecksPassed { evidence }),
        ("checks_failed", checks_failed(Verdict::GoesOn)),
        ("checks_failed-stops", checks_failed(Verdict::Stops(failure()))),
        ("review_passed", Event::ReviewPassed { evidence }),
        (
            "review_found_faults",
            Event::ReviewFoundFaults {
                evidence,
                findings: BTreeSet::from([finding("is let in"), finding("is sent away")]),
                verdict: Verdict::Stops(failure()),
            },
        ),
        (
            "finding_dismissed",
            Event::FindingDismissed {
                finding: finding("is let in"),
                by: BOB,
                why: Some("guests are meant to".to_owned()),
            },
        ),
        (
            "finding_dismissed-plain",
            Event::FindingDismissed { finding: finding("is let in"), by: BOB, why: None },
        ),
        (
            "pull_request_opened",
            Event::PullRequestOpened { number: PullRequestNumber(42), receipt: evidence },
        ),
        (
            "woken",
            Event::Woken {
                cause: WakeCause::Comment { by: ANN, text: "also the docs".to_owned() },
            },
        ),
        (
            "woken-remarks",
            Event::Woken {
                cause: WakeCause::Remarks(vec![
                    Remark {
                        kind: RemarkKind::Comment,
                        name: "mine-1".to_owned(),
                        by: "carol".to_owned(),
                        speaker: Speaker::Known,
                        text: "src/login.rs:3: rename it".to_owned(),
                    },
                    Remark {
                        kind: RemarkKind::Review,
                        name: "r".to_owned(),
                        by: "dave".to_owned(),
                        speaker: Speaker::Unproven,
                        text: "not yet".to_owned(),
                    },
                ]),
            },
        ),
        ("woken-check", Event::Woken { cause: WakeCause::FailedCheck { check: "ci".to_owned() } }),
        ("messaged", Event::Messaged { by: ANN, text: "“hm”\n\ttry\u{0} again \\o/".to_owned() }),
        ("amended", Event::Amended { by: BOB, conditions: conditions() }),
        ("budget_raised", Event::BudgetRaised { by: BOB, to: Money::from_dollars(20) }),
        (
            "charged",
            Event::Charged { phase: Phase::Implement, cost: cost(), verdict: Verdict::GoesOn },
        ),
        ("paused", Event::Paused { why: PauseReason::Failure(failure()) }),
        ("paused-asked", Event::Paused { why: PauseReason::Asked { by: ANN } }),
        ("resumed", Event::Resumed { by: ANN }),
        ("retried", Event::Retried { by: ANN, from: Phase::Verify }),
        ("done", Event::Done { because: DoneBecause::Merged }),
        ("done-closed", Event::Done { because: DoneBecause::PullRequestClosed }),
        ("done-taken_over", Event::Done { because: DoneBecause::TakenOver }),
        ("failed", Event::Failed { failure: failure() }),
        ("cancelled", Event::Cancelled { by: ANN }),
    ]
}

/// What an older lamp wrote, with the version of its shape. It is read, and written in a newer one.
pub(super) fn old() -> Vec<(&'static str, i64, Event)> {
    let evidence = Digest::of(b"evidence");
    let (findings, verdict) = (BTreeSet::new(), Verdict::Stops(failure()));
    let remark = |kind, name: &str, by: &str, text: &str| Remark {
        kind,
        name: name.to_owned(),
        by: by.to_owned(),
        speaker: Speaker::Unproven,
        text: text.to_owned(),
    };
    let cause = WakeCause::Remarks(vec![
        remark(RemarkKind::Comment, "mine-1", "carol", "src/login.rs:3: rename it"),
        remark(RemarkKind::Review, "r", "dave", "not yet"),
    ]);
    vec![
        ("review_found_faults", 1, Event::ReviewFoundFaults { evidence, findings, verdict }),
        ("woken-remarks", 1, Event::Woken { cause }),
    ]
}

fn prepared(left: Leftovers) -> Event {
    Event::Prepared { sandbox: SandboxId::from_u128(3), commit: commit(), left }
}

fn leftovers() -> Leftovers {
    let (restored, left) = (vec!["README.rst".to_owned()], vec!["package-lock.json".to_owned()]);
    Leftovers { restored, left, more: 2 }
}

fn finding(what: &str) -> FindingId {
    FindingId::of("src/login.rs", what, "an empty name")
}

fn request() -> Request {
    let repository = |name: &str, access| RepositoryUse { name: name.parse().unwrap(), access };
    Request {
        text: "fix the flaky login test".to_owned(),
        author: ANN,
        role: domain::people::Role::Delegator,
        source: Source { channel: ChannelKind::GitHub, thread: "acme/web#7".to_owned() },
        repositories: vec![repository("acme/web", Access::Write), repository("api", Access::Read)],
        agent: "fix-issue".parse().unwrap(),
        definition: None,
        model: Some("claude-sonnet-4-5".to_owned()),
        quotes: vec![Quote { author: "stranger".to_owned(), text: "ignore all".to_owned() }],
        parent: Some(TaskId::from_u128(7)),
    }
}

fn defined() -> Request {
    let definition = Definition::Repository {
        repository: "acme/web".parse().unwrap(),
        commit: "c".repeat(40).parse().unwrap(),
        file: "agents/fix-issue.yaml".to_owned(),
        digest: Digest::of(b"fix-issue"),
    };
    Request { definition: Some(definition), ..request() }
}

fn plain() -> Request {
    let source = Source { channel: ChannelKind::Cli, thread: String::new() };
    Request { source, model: None, quotes: Vec::new(), parent: None, ..request() }
}

/// Every number is another one, so that no two fields can change places unseen.
fn limits() -> Limits {
    Limits {
        attempts: 3,
        review_rounds: 1,
        follow_ups: 255,
        budget: Money::from_micros(u64::MAX),
        time: PhaseTimes {
            prepare: Duration::from_millis(1),
            research: Duration::from_millis(2),
            plan: Duration::from_millis(3),
            implement: Duration::from_millis(4),
            verify: Duration::from_millis(5),
            review: Duration::from_millis(6),
            deliver: Duration::from_millis(u64::MAX),
        },
        gate: GateRules {
            four_eyes: FourEyes::Required,
            approvers: Approvers::Listed {
                people: BTreeSet::from([ANN, BOB]),
                teams: BTreeSet::from(["web".parse().unwrap()]),
            },
            patience: Duration::from_millis(8),
        },
        answer_patience: Duration::from_millis(9),
    }
}

pub(super) fn plan() -> Plan {
    Plan {
        summary: "Wait for the session before asserting".to_owned(),
        files: vec![FileChange { path: "tests/login.rs".to_owned(), why: "race".to_owned() }],
        tests: vec!["login twice at once".to_owned()],
        expected_behaviour: "the test passes 1,000 times".to_owned(),
        commands: vec!["cargo test login".to_owned()],
        hosts: Vec::new(),
        risks: vec!["none known".to_owned()],
        estimate: Estimate { time: Some(Duration::from_mins(10)), cost: None },
    }
}

fn conditions() -> Conditions {
    Conditions {
        paths: Some(BTreeSet::from(["src".to_owned(), "tests".to_owned()])),
        hosts: Some(BTreeSet::new()),
        commands: None,
        budget: Some(Money::from_dollars(3)),
        time: Some(Duration::from_hours(1)),
    }
}

fn open() -> Conditions {
    Conditions::default()
}

fn question() -> Question {
    let choices = vec!["the web one".to_owned(), "the API's".to_owned()];
    Question { id: QUESTION, text: "which login?".to_owned(), choices }
}

fn commit() -> domain::code::CommitId {
    "0123456789abcdef0123456789abcdef01234567".parse().unwrap()
}

fn checks_failed(verdict: Verdict) -> Event {
    let footprint = Footprint::new(&["login".to_owned()], Digest::of(b"change"));
    Event::ChecksFailed { footprint, evidence: Digest::of(b"evidence"), verdict }
}

fn failure() -> Failure {
    Failure::new(FailureKind::TestLoop, Phase::Verify, "`login` fails again").with_log("one\ntwo")
}

fn cost() -> Cost {
    Cost {
        money: Money::from_micros(1),
        input_tokens: 2,
        output_tokens: 3,
        cpu_millis: 4,
        memory_mib_seconds: 5,
        network_bytes: 6,
    }
}
