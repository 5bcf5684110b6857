//! Whatever happens to a task, its view and its outbox are what a replay of its events would give.

use std::collections::BTreeSet;

use domain::{
    approval::Conditions,
    code::PullRequestNumber,
    cost::Cost,
    digest::Digest,
    failure::{Failure, FailureKind},
    finding::FindingId,
    id::{QuestionId, SandboxId},
    money::Money,
    people::{Person, Role},
    phase::Phase,
    progress::Footprint,
    question::Question,
    task::{Ask, Command, Event, Report, Resting, Span, Stage, Step, Task, TimeUp, decide, due},
    time::Timestamp,
};
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use store::TaskView;
use testkit::{ann, bob};

use crate::{
    home::Home,
    life::{Life, at, plan, request, requested},
};

on_both!(a_view_is_what_a_replay_of_any_history_gives);

const LIVES: u128 = 30;

fn finding() -> FindingId {
    FindingId::of("src/login.rs", "an empty name is let in", "login(\"\")")
}

fn any_command() -> impl Strategy<Value = Command> {
    let phase = || prop::sample::select(Phase::ALL.to_vec());
    let evidence = Digest::of(b"evidence");
    let commit = |n: u32| format!("{n:040x}").parse().unwrap();
    let report = prop_oneof![
        4 => Just(Report::Admitted),
        4 => (0u128..3).prop_map(move |n| Report::Prepared {
            sandbox: SandboxId::from_u128(n), commit: commit(0), left: domain::task::Leftovers::default()
        }),
        1 => (0u128..3).prop_map(|n| Report::Asked {
            question: Question { id: QuestionId::from_u128(n), text: "?".to_owned(), choices: vec![] },
            session: None
        }),
        4 => Just(Report::Researched { notes: evidence, session: None }),
        4 => (0u32..3).prop_map(|n| Report::PlanWritten { plan: plan(n), session: None }),
        4 => (0u32..3).prop_map(move |n| Report::Implemented {
            base: commit(0), commit: commit(n), difference: Digest::of(&[0]), record: evidence, session: None
        }),
        4 => Just(Report::ChecksPassed { evidence }),
        1 => (0u8..3).prop_map(move |n| Report::ChecksFailed {
            footprint: Footprint::new(&[], Digest::of(&[n])), evidence
        }),
        4 => Just(Report::ReviewPassed { evidence }),
        1 => Just(Report::ReviewFoundFaults { evidence, findings: BTreeSet::from([finding()]) }),
        4 => (1u64..9).prop_map(move |n| Report::Delivered { number: PullRequestNumber(n), receipt: evidence }),
        1 => Just(Report::Merged),
        1 => (prop::sample::select(FailureKind::ALL.to_vec()), phase())
            .prop_map(|(kind, phase)| Report::Failed(Failure::new(kind, phase, "x"))),
        1 => phase().prop_map(|phase| Report::TimeUp(TimeUp::Phase(phase))),
        1 => (0u32..4, phase()).prop_map(|(n, phase)| Report::Charged {
            phase, cost: Cost { money: Money::from_dollars(n), ..Cost::ZERO }
        }),
    ];
    let ask = prop_oneof![
        6 => (0u32..3).prop_map(|n| Ask::Approve {
            plan: plan(n).hash(), conditions: Conditions::default()
        }),
        1 => (0u32..3).prop_map(|n| Ask::Reject { plan: plan(n).hash(), comment: "no".to_owned() }),
        1 => (0u128..3).prop_map(|n| Ask::Answer {
            question: QuestionId::from_u128(n), text: "yes".to_owned()
        }),
        1 => Just(Ask::Message { text: "hm".to_owned() }),
        1 => Just(Ask::Pause),
        3 => Just(Ask::Resume),
        1 => phase().prop_map(|from| Ask::Retry { from }),
        1 => Just(Ask::Dismiss { finding: finding(), why: None }),
        1 => (1u32..40).prop_map(|n| Ask::RaiseBudget { to: Money::from_dollars(n) }),
    ];
    let by = prop::sample::select(vec![ann(), bob(), Person { role: Role::Admin, ..bob() }]);
    prop_oneof![
        3 => report.prop_map(Command::Report),
        1 => (by, ask).prop_map(|(by, ask)| Command::Ask { by, ask }),
    ]
}

/// What the store should say of a task, worked out from its events alone.
#[derive(Default)]
struct Expected {
    task: Option<Task>,
    since: i64,
    pull_request: Option<u64>,
    pending: Vec<(u64, Step, Timestamp)>,
}

impl Expected {
    fn add(&mut self, seq: u64, event: &Event, when: i64) {
        let before = self.task.take();
        let after = match &before {
            None => Task::replay([event]).unwrap(),
            Some(task) => task.clone().after(event),
        };
        if before.as_ref().is_none_or(|before| before.stage != after.stage) {
            self.since = when;
            self.pending.retain(|(_, step, _)| step.span() == Span::Always);
        }
        for due in due(before.as_ref(), &after) {
            let due_at = if due.delay.is_zero() { at(0) } else { at(when) + due.delay };
            self.pending.push((seq, due.step, due_at));
        }
        let number = after.pull_request;
        self.pull_request = number.map(|number| number.0).or(self.pull_request);
        self.task = Some(after);
    }
}

async fn a_view_is_what_a_replay_of_any_history_gives(home: Home) {
    let store = &home.store;
    let mut runner = TestRunner::deterministic();
    let lives =
        (prop::collection::vec(any_command(), 0..120), prop::collection::vec(1usize..6, 120));
    for number in 1..=LIVES {
        let (commands, sizes) = lives.new_tree(&mut runner).unwrap().current();
        let mut life = Life::begin(store, number, 0).await;
        let mut expected = Expected::default();
        expected.add(1, &requested(request("acme/web", 1)), 0);
        let (mut batch, mut sizes) = (Vec::new(), sizes.into_iter());
        let (mut size, mut when) = (1, 0);
        let mut task = life.task.clone();
        for command in commands {
            let Ok(event) = decide(&task, command) else { continue };
            task = task.after(&event);
            batch.push(event);
            if batch.len() >= size {
                when += 1_000;
                keep(&mut life, store, &mut expected, std::mem::take(&mut batch), when).await;
                size = sizes.next().unwrap();
            }
        }
        keep(&mut life, store, &mut expected, batch, when).await;
        let history = store.history(life.id).await.unwrap();
        assert_eq!(history.task(), expected.task);
        let view = store.task(life.id).await.unwrap().unwrap();
        compare(&view, &expected, when);
        assert_eq!(view.seq, history.seq());
        let mut pending: Vec<_> = store.pending(life.id).await.unwrap();
        pending.sort_by_key(|row| (row.seq, row.step));
        expected.pending.sort_unstable();
        let pending: Vec<_> = pending.iter().map(|row| (row.seq, row.step, row.due_at)).collect();
        assert_eq!(pending, expected.pending);
    }
    store.verify_audit().await.unwrap();
}

async fn keep(
    life: &mut Life,
    store: &store::Store,
    expected: &mut Expected,
    batch: Vec<Event>,
    when: i64,
) {
    if batch.is_empty() {
        return;
    }
    for (event, seq) in batch.iter().zip(life.seq + 1..) {
        expected.add(seq, event, when);
    }
    life.add(store, life.next(batch, when)).await.unwrap();
}

fn compare(view: &TaskView, expected: &Expected, when: i64) {
    let task = expected.task.as_ref().unwrap();
    assert_eq!(view.stage, task.stage.name());
    assert_eq!(view.spent, task.spent.money);
    assert_eq!((view.since, view.created_at), (at(expected.since), at(0)));
    assert_eq!(view.changed_at, at(when));
    assert_eq!(view.pull_request, expected.pull_request);
    let plan = match &task.stage {
        Stage::AwaitingApproval { plan } | Stage::Paused { at: Resting::Gate { plan }, .. } => {
            Some(plan.to_string())
        }
        _other => None,
    };
    assert_eq!(view.plan, plan);
    assert_eq!(view.failure.is_some(), view.stage == "failed" || paused_by_failure(&task.stage));
}

fn paused_by_failure(stage: &Stage) -> bool {
    matches!(stage, Stage::Paused { why: domain::task::PauseReason::Failure(_), .. })
}
