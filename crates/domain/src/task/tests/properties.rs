//! No sequence of commands, however odd, breaks the promises.

use proptest::prelude::*;

use super::*;

fn any_person() -> impl Strategy<Value = Person> {
    (prop::sample::select(vec![ANN, BOB]), prop::sample::select(Role::ALL.to_vec()))
        .prop_map(|(id, role)| person(id, role))
}

fn any_phase() -> impl Strategy<Value = Phase> {
    prop::sample::select(Phase::ALL.to_vec())
}

fn any_finding() -> impl Strategy<Value = FindingId> {
    prop::sample::select(vec![finding("a"), finding("b"), finding("c")])
}

pub(super) fn any_ask() -> impl Strategy<Value = Command> {
    let ask = prop_oneof![
        4 => (0u32..3).prop_map(|n| Ask::Approve {
            plan: plan(n).hash(),
            conditions: Conditions::default()
        }),
        1 => (0u32..3).prop_map(|n| Ask::Reject { plan: plan(n).hash(), comment: "no".to_owned() }),
        1 => (0u128..3).prop_map(|n| Ask::Answer {
            question: QuestionId::from_u128(n),
            text: "yes".to_owned()
        }),
        1 => Just(Ask::Message { text: "hm".to_owned() }),
        1 => Just(Ask::Pause),
        2 => Just(Ask::Resume),
        1 => Just(Ask::Amend { conditions: Conditions::default() }),
        1 => any_phase().prop_map(|from| Ask::Retry { from }),
        2 => any_finding().prop_map(|finding| Ask::Dismiss { finding, why: None }),
        1 => (1u32..40).prop_map(|n| Ask::RaiseBudget { to: Money::from_dollars(n) }),
    ];
    // Cancelling is rare, or every history would be short.
    let ask = prop_oneof![60 => ask, 1 => Just(Ask::Cancel)];
    (any_person(), ask).prop_map(|(by, ask)| Command::Ask { by, ask })
}

pub(super) fn any_report() -> impl Strategy<Value = Command> {
    let kinds = FailureKind::ALL.to_vec();
    prop_oneof![
        4 => Just(Report::Admitted),
        4 => (0u128..3).prop_map(|n| Report::Prepared {
            sandbox: SandboxId::from_u128(n),
            commit: commit(0),
            left: Leftovers::default(),
        }),
        1 => (0u128..3).prop_map(|n| Report::Asked {
            question: Question { id: QuestionId::from_u128(n), text: "?".to_owned(), choices: vec![] },
            session: None
        }),
        4 => Just(Report::Researched { notes: evidence(), session: None }),
        4 => (0u32..3).prop_map(|n| Report::PlanWritten { plan: plan(n), session: None }),
        4 => (0u32..3).prop_map(|n| Report::Implemented {
            base: commit(0),
            commit: commit(n),
            difference: Digest::of(&[0]),
            record: evidence(),
            session: None
        }),
        4 => Just(Report::ChecksPassed { evidence: evidence() }),
        1 => (0u8..3).prop_map(|n| Report::ChecksFailed {
            footprint: Footprint::new(&[], Digest::of(&[n])),
            evidence: evidence()
        }),
        4 => Just(Report::ReviewPassed { evidence: evidence() }),
        2 => prop::collection::btree_set(any_finding(), 0..3)
            .prop_map(|findings| Report::ReviewFoundFaults { evidence: evidence(), findings }),
        4 => Just(Report::Delivered { number: PullRequestNumber(1), receipt: evidence() }),
        1 => (0u32..3).prop_map(|n| Report::CheckFailedOnHead {
            head: commit(n),
            check: "ci".to_owned()
        }),
        1 => (0u32..3).prop_map(|n| Report::Remarked(vec![remark(&n.to_string())])),
        1 => Just(Report::Merged),
        1 => Just(Report::TakenOver),
        1 => (prop::sample::select(kinds), any_phase())
            .prop_map(|(kind, phase)| Report::Failed(Failure::new(kind, phase, "x"))),
        1 => any_phase().prop_map(|phase| Report::TimeUp(TimeUp::Phase(phase))),
        1 => Just(Report::TimeUp(TimeUp::Approval)),
        1 => (0u32..4, any_phase()).prop_map(|(n, phase)| Report::Charged {
            phase,
            cost: Cost { money: Money::from_dollars(n), ..Cost::ZERO }
        }),
    ]
    .prop_map(Command::Report)
}

pub(super) fn any_commands() -> impl Strategy<Value = Vec<Command>> {
    prop::collection::vec(prop_oneof![3 => any_report(), 1 => any_ask()], 0..120)
}

/// The events of a random life: each command is tried, refusals are dropped.
pub(super) fn live(commands: Vec<Command>) -> Vec<Event> {
    let first = requested(Limits { attempts: 3, ..Limits::default() });
    let mut task = Task::replay([&first]).unwrap();
    let mut events = vec![first];
    for command in commands {
        if let Ok(event) = decide(&task, command) {
            task = task.after(&event);
            events.push(event);
        }
    }
    events
}

/// The plans that a history has approved, each while it was the one waiting.
fn approved(history: &[Event]) -> Vec<PlanHash> {
    let mut waiting = None;
    let mut approved = Vec::new();
    for event in history {
        match event {
            Event::PlanSubmitted { plan, .. } => waiting = Some(plan.hash()),
            Event::Approved { plan, by, .. } => {
                assert_eq!(Some(*plan), waiting, "only the waiting plan is approved");
                assert!([ANN, BOB].contains(by));
                approved.push(*plan);
                waiting = None;
            }
            Event::Rejected { .. } => waiting = None,
            _other => {}
        }
    }
    approved
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_implemented_without_an_approval_of_the_waiting_plan(commands in any_commands()) {
        let events = live(commands);
        for end in 1..=events.len() {
            let history = &events[..end];
            let task = Task::replay(history).unwrap();
            if let Some(mandate) = task.stage.mandate() {
                prop_assert!(approved(history).contains(&mandate.approval().plan));
            }
        }
    }

    #[test]
    fn an_approval_is_only_ever_a_persons_who_may(
        commands in any_commands(), by in any_person(), number in 0u32..3,
    ) {
        let task = Task::replay(&live(commands)).unwrap();
        let wish = Ask::Approve { plan: plan(number).hash(), conditions: Conditions::default() };
        if let Ok(event) = decide(&task, Command::Ask { by: by.clone(), ask: wish }) {
            let approved = matches!(event, Event::Approved { by: who, .. } if who == by.id);
            prop_assert!(approved);
            prop_assert!(matches!(by.role, Role::Approver | Role::Maintainer | Role::Admin));
        }
    }

    #[test]
    fn no_report_of_the_machine_ever_passes_the_gate(commands in any_commands(), report in any_report()) {
        let task = Task::replay(&live(commands)).unwrap();
        if let Ok(event) = decide(&task, report) {
            let passes = matches!(event, Event::Approved { .. } | Event::Amended { .. });
            prop_assert!(!passes);
            let stood_behind = task.stage.mandate().is_some();
            prop_assert!(stood_behind || task.after(&event).stage.mandate().is_none());
        }
    }

    #[test]
    fn replay_of_any_history_gives_the_same_task(commands in any_commands()) {
        let events = live(commands);
        let (first, rest) = events.split_first().unwrap();
        let stepwise = rest.iter().fold(Task::replay([first]).unwrap(), Task::after);
        prop_assert_eq!(Task::replay(&events), Some(stepwise));
    }

    #[test]
    fn what_is_over_stays_over(commands in any_commands(), next in prop_oneof![any_ask(), any_report()]) {
        let task = Task::replay(&live(commands)).unwrap();
        if task.stage.standing() != Standing::Over {
            return Ok(());
        }
        let retried = matches!(next, Command::Ask { ask: Ask::Retry { .. }, .. });
        if let Ok(event) = decide(&task, next) {
            let after = task.clone().after(&event);
            let left = after.stage != task.stage;
            let mended = retried && matches!(task.stage, Stage::Failed { .. });
            prop_assert!(!left || mended);
        }
    }

    #[test]
    fn a_stage_of_work_always_has_a_step_and_a_time_limit(commands in any_commands()) {
        let events = live(commands);
        let mut before: Option<Task> = None;
        for event in &events {
            let after = match &before {
                None => Task::replay([event]).unwrap(),
                Some(task) => task.clone().after(event),
            };
            let due = due(before.as_ref(), &after);
            let moved = before.as_ref().is_none_or(|task| task.stage != after.stage);
            let works = due.iter().filter(|it| it.step.lane() == Lane::Work).count();
            let timed = due.iter().any(|it| matches!(it.step, Step::TimeUp(TimeUp::Phase(_))));
            prop_assert!(works <= 1, "one thing at a time");
            if moved && after.stage.standing() == Standing::HoldsPlace {
                prop_assert!(works == 1 && timed);
            }
            before = Some(after);
        }
    }

    #[test]
    fn no_charge_is_lost(commands in any_commands()) {
        let events = live(commands);
        let charged: Money = events.iter().map(|event| match event {
            Event::Charged { cost, .. } => cost.money,
            _other => Money::ZERO,
        }).sum();
        prop_assert_eq!(Task::replay(&events).unwrap().spent.money, charged);
    }
}
