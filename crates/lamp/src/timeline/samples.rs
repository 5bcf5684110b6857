//! One task in its states, its plan, its journey and its agents: what the texts are tried on.

use wire::{
    agent::{AgentEvent, PlannedFile, TodoItem, TodoState, ToolKind, ToolStatus},
    money::Money,
    task::{
        checks::{Conclusion, Headline},
        event::{
            AttemptFootprint, GateRules, Leftovers, PauseReason, RecordedEvent, RepositoryUse,
            TaskEvent, TaskLimits, TaskRequest,
        },
        new::Access,
        plan::{Conditions, Decision, Estimate, Plan, TaskPlan},
        shown::{Failure, Next, NextCommand, Person, Question, Standing, Task},
        stream::{Cursor, StreamItem},
        transcript::TranscriptItem,
        usage::Spent,
    },
    time::Time,
};

pub(crate) const ID: &str = "t_01jbrt5cy4fnf8z40j6hb7h6nw";
pub(crate) const HASH: &str = "745169c4753d52d888826ffb4e0dcef9fdd92e307fb01ee15e15dd1e493f26a8";
pub(crate) const COMMIT: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const BEGUN: i64 = 1_794_850_954_120;

pub(crate) fn at(seconds: i64) -> Time {
    Time::from_millis(BEGUN + seconds * 1_000)
}

pub(crate) fn ann() -> Person {
    Person { id: "u_00000000000000000000000001".to_owned(), name: Some("ann".to_owned()) }
}

pub(crate) fn spent() -> Spent {
    Spent {
        money: Money::from_micros(420_000),
        input_tokens: 12_000,
        output_tokens: 800,
        cpu_millis: 61_000,
        memory_mib_seconds: 90_000,
        network_bytes: 5 << 20,
    }
}

fn next(sentence: &str, commands: &[(&str, &str)]) -> Next {
    let commands = commands.iter().map(|(command, does)| NextCommand {
        command: (*command).to_owned(),
        does: (*does).to_owned(),
    });
    Next { sentence: sentence.to_owned(), commands: commands.collect() }
}

pub(crate) fn headline(conclusion: Conclusion) -> Headline {
    let plain = Headline {
        conclusion,
        sentence: "passed: 12 tests ran, and all pass".to_owned(),
        warning: None,
        next: Vec::new(),
        tests: 12,
        failing_checks: 0,
        failing_tests: 0,
        mended: 0,
        gone: 0,
        not_run: 0,
    };
    match conclusion {
        Conclusion::Passes => plain,
        Conclusion::NothingWorse => Headline {
            sentence: "nothing got worse: 2 checks fail as before".to_owned(),
            warning: Some(
                "nothing that failed before was mended: if that was the task, it is not done"
                    .to_owned(),
            ),
            failing_checks: 2,
            ..plain
        },
        Conclusion::Unproven => Headline {
            sentence: "nothing was proven, because 1 of 1 check could not be run".to_owned(),
            next: vec!["`tox` was not found in the `PATH` of the image `host`".to_owned()],
            tests: 0,
            not_run: 1,
            ..plain
        },
        Conclusion::Fails => {
            Headline { sentence: "failed: 1 check is worse than before".to_owned(), ..plain }
        }
    }
}

pub(crate) fn pull_request_open() -> Task {
    Task {
        id: ID.to_owned(),
        short: "t_01jbrt5cy4fn".to_owned(),
        state: "pull request open".to_owned(),
        standing: Standing::WaitsForPerson,
        phase: Some("deliver".to_owned()),
        title: "fix the flaky login test".to_owned(),
        text: "fix the flaky login test\n\nIt fails about once a day.".to_owned(),
        requester: ann(),
        channel: "cli".to_owned(),
        repositories: vec![RepositoryUse { name: "acme/web".to_owned(), access: Access::Write }],
        agent: "lamp".to_owned(),
        model: None,
        branch: Some("lamp/fix-the-flaky-login-test".to_owned()),
        commit: Some(COMMIT.to_owned()),
        pull_request: Some(7),
        headline: Some(headline(Conclusion::Passes)),
        sandbox: None,
        plan_waiting: None,
        plan_approved: Some(HASH.to_owned()),
        question: None,
        failure: None,
        done_because: None,
        attempt: Some(1),
        review_round: Some(0),
        dismissed: Vec::new(),
        spent: spent(),
        budget: Money::from_micros(5_000_000),
        queue: None,
        parent: None,
        siblings: Vec::new(),
        events: 12,
        created_at: at(0),
        changed_at: at(200),
        since: at(200),
        next: next(
            "pull request 7 waits for review",
            &[
                ("lamp pr get 7 --repo acme/web", "shows the pull request"),
                ("lamp diff t_01jbrt5cy4fn", "shows the change"),
                ("lamp pr merge 7 --repo acme/web", "merges it"),
            ],
        ),
    }
}

pub(crate) fn waiting_for_approval() -> Task {
    Task {
        state: "awaiting approval".to_owned(),
        phase: Some("plan".to_owned()),
        branch: None,
        commit: None,
        pull_request: None,
        plan_waiting: Some(HASH.to_owned()),
        plan_approved: None,
        attempt: None,
        next: next(
            "the plan waits for a decision",
            &[
                ("lamp plan t_01jbrt5cy4fn", "shows the plan"),
                (&format!("lamp approve t_01jbrt5cy4fn {HASH}"), "approves it"),
                ("lamp reject t_01jbrt5cy4fn \"…\"", "sends it back with a comment"),
            ],
        ),
        ..pull_request_open()
    }
}

pub(crate) fn waiting_for_answer() -> Task {
    Task {
        state: "waiting for an answer".to_owned(),
        phase: Some("research".to_owned()),
        plan_waiting: None,
        question: Some(question()),
        next: next(
            "the agent waits for your answer",
            &[("lamp answer t_01jbrt5cy4fn \"…\"", "answers")],
        ),
        ..waiting_for_approval()
    }
}

pub(crate) fn paused() -> Task {
    Task {
        state: "paused".to_owned(),
        phase: Some("implement".to_owned()),
        plan_waiting: None,
        plan_approved: Some(HASH.to_owned()),
        failure: Some(failure()),
        next: next(
            "it stopped (test_loop): say what to try",
            &[("lamp resume t_01jbrt5cy4fn", "goes on where it was")],
        ),
        ..waiting_for_approval()
    }
}

pub(crate) fn failure() -> Failure {
    Failure {
        kind: "test_loop".to_owned(),
        phase: "implement".to_owned(),
        message: "the checks failed 3 times".to_owned(),
        last_lines: vec!["FAILED login_test".to_owned(), "\u{1b}[31m1 failed\u{1b}[0m".to_owned()],
        remedy: "look at the checks, and say what to try".to_owned(),
    }
}

pub(crate) fn question() -> Question {
    Question {
        id: "q_01jbrt5cy4fnf8z40j6hb7h6nw".to_owned(),
        text: "Which database do the tests use?".to_owned(),
        choices: vec!["SQLite".to_owned(), "PostgreSQL".to_owned()],
    }
}

pub(crate) fn plan() -> Plan {
    let all = |entries: &[&str]| entries.iter().map(|it| (*it).to_owned()).collect();
    Plan {
        hash: HASH.to_owned(),
        summary: "Wait for the session before asserting.\nThe race is in the test.".to_owned(),
        files: vec![PlannedFile {
            path: "tests/login.rs".to_owned(),
            why: "await the session".to_owned(),
        }],
        tests: all(&["run login 100 times"]),
        expected_behaviour: "The test passes each time.".to_owned(),
        commands: all(&["cargo test login", "\u{1b}[8mcurl evil\u{1b}[0m"]),
        hosts: all(&["docs.rs"]),
        risks: all(&["the wait hides a slow login"]),
        estimate: Estimate { seconds: Some(240), cost: Some(Money::from_micros(300_000)) },
    }
}

pub(crate) fn conditions() -> Conditions {
    Conditions {
        paths: Some(vec!["tests".to_owned(), "src/login.rs".to_owned()]),
        hosts: Some(Vec::new()),
        commands: None,
        budget_micros: Some(2_000_000),
        time_seconds: Some(1800),
    }
}

pub(crate) fn decisions() -> [TaskPlan; 4] {
    let with = |waiting, decision| TaskPlan {
        plan: plan(),
        submitted_at: at(50),
        waiting,
        decision,
        earlier: 0,
    };
    let (by, at) = (ann(), at(90));
    let comment = "smaller, please\nand \u{1b}[2Jtested".to_owned();
    [
        with(true, None),
        with(
            false,
            Some(Decision::Approved { by: by.clone(), at, conditions: Conditions::default() }),
        ),
        with(false, Some(Decision::Approved { by: by.clone(), at, conditions: conditions() })),
        with(false, Some(Decision::Rejected { by, at, comment })),
    ]
}

pub(crate) fn said(number: u64, event: AgentEvent) -> TranscriptItem {
    TranscriptItem { number, run: 2, attempt: 1, at: at(20), event }
}

fn tool(id: &str, title: &str, tool: ToolKind, status: ToolStatus) -> AgentEvent {
    let result = (status == ToolStatus::Failed).then(|| "line one\nno such file".to_owned());
    AgentEvent::ToolCall {
        id: id.to_owned(),
        title: title.to_owned(),
        tool,
        status,
        input: None,
        result,
        paths: Vec::new(),
    }
}

pub(crate) fn agent_at_work() -> Vec<AgentEvent> {
    let message = |number, text: &str| AgentEvent::Message { number, text: text.to_owned() };
    vec![
        AgentEvent::Briefed { part: 1, text: "a long brief".to_owned() },
        AgentEvent::Started {
            program: "lamp-agent".to_owned(),
            version: Some("1.0.0".to_owned()),
            model: Some("small".to_owned()),
            session: None,
        },
        AgentEvent::Thought { number: 1, text: "hm".to_owned() },
        message(1, "I look at "),
        message(1, "the test first.\n\nThen at \u{1b}]0;evil\u{7}the code"),
        tool("1", "read tests/login.rs", ToolKind::Read, ToolStatus::Running),
        tool("1", "read tests/login.rs", ToolKind::Read, ToolStatus::Done),
        tool("2", "cargo test login\nrm -rf x", ToolKind::Execute, ToolStatus::Running),
        tool("2", "cargo test login\nrm -rf x", ToolKind::Execute, ToolStatus::Failed),
        AgentEvent::Todo {
            items: vec![
                TodoItem { text: "read".to_owned(), state: TodoState::Done },
                TodoItem { text: "fix".to_owned(), state: TodoState::Doing },
            ],
        },
        AgentEvent::Permission { title: "write".to_owned(), allowed: false },
        AgentEvent::FileChanged { path: "tests/login.rs".to_owned() },
        AgentEvent::Heard { text: "use tokio".to_owned() },
        AgentEvent::Trouble { text: "the model was busy".to_owned() },
        message(2, "Done.\n```lamp-answer\n{\"change\":{}}\n```\n"),
    ]
}

fn request() -> TaskEvent {
    let phases = Vec::new();
    TaskEvent::Requested {
        request: Box::new(TaskRequest {
            text: "fix the flaky login test".to_owned(),
            author: ann(),
            role: "maintainer".to_owned(),
            channel: "cli".to_owned(),
            thread: String::new(),
            repositories: pull_request_open().repositories,
            agent: "lamp".to_owned(),
            definition: None,
            model: None,
            quotes: Vec::new(),
            parent: None,
        }),
        limits: TaskLimits {
            attempts: 3,
            review_rounds: 2,
            follow_ups: 3,
            budget: Money::from_micros(5_000_000),
            phases,
            answer_patience_seconds: 3600,
            gate: GateRules { four_eyes: false, approvers: None, patience_seconds: 3600 },
        },
    }
}

/// Each event, and after the second one what the agent does.
pub(crate) fn journey() -> Vec<StreamItem> {
    let hash = || HASH.to_owned();
    let footprint = || AttemptFootprint { failing: hash(), change: hash() };
    let events = vec![
        request(),
        TaskEvent::Admitted {},
        TaskEvent::Prepared {
            sandbox: "s_01".to_owned(),
            commit: COMMIT.to_owned(),
            left: Leftovers {
                restored: vec!["README.rst".to_owned()],
                left: vec!["package-lock.json".to_owned(), "a\u{1b}[2J".to_owned()],
                more: 3,
            },
        },
        TaskEvent::QuestionAsked { question: question(), session: None },
        TaskEvent::Answered { question: question().id, by: ann(), text: "SQLite".to_owned() },
        TaskEvent::Researched { notes: hash(), session: None },
        TaskEvent::Charged { phase: "research".to_owned(), cost: spent(), stopped_by: None },
        TaskEvent::PlanSubmitted { plan: plan(), session: None },
        TaskEvent::Rejected { plan: hash(), by: ann(), comment: "smaller\u{1b}[2J".to_owned() },
        TaskEvent::PlanSubmitted { plan: plan(), session: None },
        TaskEvent::Approved { plan: hash(), by: ann(), conditions: conditions() },
        TaskEvent::Implemented {
            base: COMMIT.to_owned(),
            commit: COMMIT.to_owned(),
            difference: hash(),
            record: hash(),
            session: None,
        },
        TaskEvent::ChecksFailed { footprint: footprint(), evidence: hash(), stopped_by: None },
        TaskEvent::ChecksPassed { evidence: hash(), headline: Some(headline(Conclusion::Passes)) },
        TaskEvent::ChecksNotWorse {
            evidence: hash(),
            headline: headline(Conclusion::NothingWorse),
        },
        TaskEvent::ChecksUnproven { evidence: hash(), headline: headline(Conclusion::Unproven) },
        TaskEvent::ChecksPassed { evidence: hash(), headline: None },
        TaskEvent::ReviewFoundFaults { evidence: hash(), findings: vec![hash()], stopped_by: None },
        TaskEvent::FindingDismissed {
            finding: hash(),
            by: ann(),
            why: Some("guests have no name\u{1b}[2J".to_owned()),
        },
        TaskEvent::ReviewPassed { evidence: hash() },
        TaskEvent::Paused { why: PauseReason::Failure { failure: failure() } },
        TaskEvent::Resumed { by: ann() },
        TaskEvent::PullRequestOpened { number: 7, receipt: hash() },
        TaskEvent::Messaged { by: ann(), text: "thanks".to_owned() },
        TaskEvent::Done { because: "merged".to_owned() },
        TaskEvent::Failed { failure: failure() },
        TaskEvent::Cancelled { by: ann() },
        TaskEvent::Unknown,
    ];
    let mut journey = Vec::new();
    let mut cursor = Cursor::default();
    for (event, number) in events.into_iter().zip(1_u64..) {
        cursor.events = number;
        let at = at(i64::try_from(number).unwrap() * 10);
        journey.push(StreamItem::Event {
            cursor,
            event: Box::new(RecordedEvent { number, at, event }),
        });
        if number == 3 {
            for (event, number) in agent_at_work().into_iter().zip(1_u64..) {
                cursor.transcript = number;
                journey.push(StreamItem::Transcript { cursor, item: said(number, event) });
            }
        }
    }
    journey
}
