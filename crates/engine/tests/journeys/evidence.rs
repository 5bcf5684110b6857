//! What a delivered change can prove, and what happens to it afterwards without our doing.

use std::time::Duration;

use contracts::forge::{Author, Merge, PullRequests as _};
use domain::{
    code::PullRequestNumber,
    id::TaskId,
    limits::Limits,
    money::Money,
    plan::Estimate,
    task::{Ask, DoneBecause, Event, Stage, Task},
    time::Timestamp,
};
use engine::record::{ChangeRecord, ChecksRecord, ConclusionRecord, ReviewRecord};
use evidence::{body::Block, envelope::Envelope, keys::TrustedKeys};
use testkit::{
    clock::{AnyClock, ManualClock},
    world::{PRICE, ScriptedPulls, World},
};

use crate::fixture::{Fixture, is_over};

fn is_open(task: &Task) -> bool {
    matches!(task.stage, Stage::PullRequestOpen { .. })
}

/// A task whose pull request is open, without anybody who merges it.
async fn delivered(fixture: &Fixture, text: &str) -> (TaskId, Task) {
    let task = fixture.submit(text).await;
    let running = fixture.run();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    fixture.approve(task).await;
    let open = fixture.wait_until(task, is_open).await;
    running.stop().await;
    (task, open)
}

#[tokio::test]
async fn a_pull_request_comes_with_a_receipt_that_anybody_can_check() {
    let fixture = Fixture::new().await;
    let (task, open) = delivered(&fixture, "red 1; faults 1; fix the login").await;
    let history = fixture.store().history(task).await.unwrap();
    let receipt = history.events.iter().find_map(|it| {
        let Event::PullRequestOpened { receipt, .. } = &it.event else { return None };
        Some(*receipt)
    });
    let bytes = fixture.store().blobs().get(receipt.unwrap()).unwrap();
    let envelope = Envelope::read(&bytes).unwrap();
    let signer = World::settings("x").signer.unwrap();
    let trusted: TrustedKeys = [signer.public()].into_iter().collect();
    let statement = envelope.open(&trusted).unwrap();
    let attested = &statement.receipt;
    assert_eq!(attested.task, task);
    assert_eq!(attested.review.rounds, 2);
    assert_eq!(attested.review.fixed, 1);
    assert_eq!(attested.checks.len(), 1);
    assert!(attested.checks.iter().all(|check| check.base.is_some()));
    let again = fixture.store().transcript_digest(task).await.unwrap();
    assert_eq!(attested.transcript, again, "what was said can be compared with what is attested");

    let branch = fixture.ledger.names("body").unwrap().remove(0);
    let body = fixture.ledger.read("body", &branch.replace('|', "/")).unwrap();
    let block = Block::find(&body).unwrap().unwrap();
    assert_eq!(block, Block::of(&statement, envelope.digest().unwrap()));
    // Research, plan, three changes and two reviews were paid for: what `lamp usage` tells is what is attested and written.
    let cost = Money::from_micros(7 * PRICE);
    assert_eq!((attested.cost.money, open.spent.money), (cost, cost));
    let shown = body.replace("&#36;", "$");
    assert!(shown.contains(&format!("· {cost} · ")), "{body}");
    let note = fixture.ledger.read("note", statement.commit.as_str()).unwrap();
    assert!(note.contains(&task.to_string()), "{note}");
}

#[tokio::test]
async fn evidence_that_no_event_speaks_of_goes_when_it_is_old_and_all_other_stays() {
    let fixture = Fixture::new().await;
    let (task, _) = delivered(&fixture, "red 1").await;
    let blobs = fixture.store().blobs();
    let old = blobs.put(b"of a step that died a while ago").unwrap();
    let week = Duration::from_hours(7 * 24 + 1);
    for path in fixture.blob_files() {
        let file = std::fs::File::open(path).unwrap();
        let age = file.metadata().unwrap().modified().unwrap() - week;
        file.set_modified(age).unwrap();
    }
    let young = blobs.put(b"of a step that is about to speak of it").unwrap();
    let running = fixture.run();
    for _ in 0..1_500 {
        if blobs.get(old).is_err() {
            break;
        }
        fixture.settle().await;
    }
    running.stop().await;
    assert!(blobs.get(old).is_err() && blobs.get(young).is_ok());
    let history = fixture.store().history(task).await.unwrap();
    let named = history.events.iter().filter_map(|it| it.event.blob());
    let named: Vec<_> = named.collect();
    assert!(named.len() >= 6, "{named:?}");
    assert!(named.into_iter().all(|it| blobs.get(it).is_ok()), "what events speak of stays");
}

#[tokio::test]
async fn the_records_of_a_task_can_be_read() {
    let fixture = Fixture::new().await;
    let (task, _) = delivered(&fixture, "red 1").await;
    let history = fixture.store().history(task).await.unwrap();
    let read = |blob| fixture.store().blobs().get(blob).unwrap();
    let mut conclusions = Vec::new();
    for recorded in &history.events {
        if let Event::Implemented { record, .. } = &recorded.event {
            let record = ChangeRecord::read(&read(*record)).unwrap();
            assert_eq!(record.paths, ["src/login.rs"]);
        }
        if let Event::ChecksPassed { evidence } | Event::ChecksFailed { evidence, .. } =
            &recorded.event
        {
            let record = ChecksRecord::read(&read(*evidence)).unwrap();
            let told = record.checks.iter().map(|check| check.name.as_str());
            assert_eq!(told.collect::<Vec<_>>(), ["tests"]);
            conclusions.push(record.conclusion);
        }
        if let Event::ReviewPassed { evidence } = &recorded.event {
            let record = ReviewRecord::read(&read(*evidence)).unwrap();
            assert_eq!((record.round, record.findings.len()), (1, 0));
        }
    }
    assert_eq!(conclusions, [ConclusionRecord::Fails, ConclusionRecord::Passes]);
}

#[tokio::test]
async fn a_pull_request_that_was_merged_with_plain_git_ends_its_task() {
    let fixture = Fixture::new().await;
    let (task, open) = delivered(&fixture, "fix it").await;
    let Stage::PullRequestOpen { number, head, .. } = open.stage else { panic!() };
    let pulls = ScriptedPulls::new(fixture.ledger.clone());
    let merge = Merge { head, base: "main".to_owned(), by: Author::Person("ann".to_owned()) };
    pulls.merge(&"acme/web".parse().unwrap(), number, &merge).await.unwrap();
    let running = fixture.run();
    let done = fixture.wait_until(task, is_over).await;
    running.stop().await;
    assert_eq!(done.stage, Stage::Done { because: DoneBecause::Merged });
}

#[tokio::test]
async fn a_persons_push_to_the_branch_ends_the_automation() {
    let fixture = Fixture::new().await;
    let (task, _) = delivered(&fixture, "fix it").await;
    let pulls = ScriptedPulls::new(fixture.ledger.clone());
    let pull = pulls.pull(&"acme/web".parse().unwrap(), PullRequestNumber(1)).await.unwrap();
    pulls.push_by_hand(&pull, &"b".repeat(40).parse().unwrap()).unwrap();
    let running = fixture.run();
    let done = fixture.wait_until(task, is_over).await;
    running.stop().await;
    assert_eq!(done.stage, Stage::Done { because: DoneBecause::TakenOver });
}

/// What the plan of `task` says that it takes.
async fn estimated(fixture: &Fixture, task: TaskId) -> Estimate {
    let history = fixture.store().history(task).await.unwrap();
    let estimate = history.events.iter().find_map(|it| {
        let Event::PlanSubmitted { plan, .. } = &it.event else { return None };
        Some(plan.estimate)
    });
    estimate.unwrap()
}

#[tokio::test]
async fn the_first_plan_has_no_estimate_and_the_next_one_has_what_was_seen() {
    let clock = ManualClock::starting_at(Timestamp::from_millis(1_700_000_000_000));
    let fixture = Fixture::with(AnyClock::Manual(clock.clone()), World::settings("engine")).await;
    let running = fixture.run();
    let planned = async |text: &str, agent: &str| {
        let mut trigger = testkit::trigger("acme/web", text).unwrap();
        trigger.agent = agent.parse().unwrap();
        let task = fixture.engine.submit(trigger, Limits::default()).await.unwrap();
        let waits = |it: &Task| matches!(it.stage, Stage::AwaitingApproval { .. });
        fixture.wait_until(task, waits).await;
        task
    };
    let first = planned("lingers", "scripted").await;
    assert_eq!(estimated(&fixture, first).await, Estimate::default());
    fixture.approve(first).await;
    fixture.wait_for_call("agent Implement").await;
    clock.advance(Duration::from_millis(1_250));
    let go_on = Ask::Message { text: "go on".to_owned() };
    fixture.engine.ask(first, testkit::ann(), go_on).await.unwrap();
    fixture.wait_until(first, is_open).await;

    // Two runs of an agent lie behind the gate: its change, and the review.
    let seen =
        Estimate { time: Some(Duration::from_secs(2)), cost: Some(Money::from_micros(2 * PRICE)) };
    let second = planned("fix it again", "scripted").await;
    assert_eq!(estimated(&fixture, second).await, seen, "whole seconds, as they are shown");
    let third = planned("fix it as well", "another").await;
    assert_eq!(estimated(&fixture, third).await, Estimate::default(), "it has not worked here yet");
    running.stop().await;
}
