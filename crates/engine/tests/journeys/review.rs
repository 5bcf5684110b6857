//! What a second agent finds is mended, at most twice, or dismissed by a person; and what is dismissed stays so (RV1).

use domain::{
    approval::Conditions,
    failure::FailureKind,
    finding::FindingId,
    id::TaskId,
    task::{Ask, Event, PauseReason, Refusal, Stage, Task},
};
use engine::{SubmitError, record::ReviewRecord};
use evidence::{
    envelope::Envelope,
    keys::TrustedKeys,
    receipt::{Receipt, ReviewOutcome},
};
use testkit::{ann, bob, world::World};

use crate::fixture::{Fixture, Running};

/// What the scripted reviewer finds, over and over again.
const FOUND: &str =
    "src/login.rs:7: the lock is not released on error (fails with: an empty password)";

fn is_open(task: &Task) -> bool {
    matches!(task.stage, Stage::PullRequestOpen { .. })
}

fn is_stuck(task: &Task) -> bool {
    let Stage::Paused { why: PauseReason::Failure(failure), .. } = &task.stage else {
        return false;
    };
    failure.kind == FailureKind::ReviewLoop
}

/// A task whose plan was approved, at work.
async fn begun(fixture: &Fixture, text: &str) -> (TaskId, Running) {
    let task = fixture.submit(text).await;
    let running = fixture.run();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    fixture.approve(task).await;
    (task, running)
}

/// What the agents of a task were told in a mode, run by run.
fn briefs(fixture: &Fixture, task: TaskId, mode: &str) -> Vec<String> {
    let kind = format!("brief-{task}");
    let mut runs = fixture.ledger.names(&kind).unwrap();
    runs.sort();
    let told = runs.iter().map(|run| fixture.ledger.read(&kind, run).unwrap());
    told.filter(|told| told.starts_with(mode)).collect()
}

/// What the reviews of a task found, round by round.
async fn found(fixture: &Fixture, task: TaskId) -> Vec<ReviewRecord> {
    let history = fixture.store().history(task).await.unwrap();
    let records = history.events.iter().filter_map(|recorded| {
        let (Event::ReviewPassed { evidence } | Event::ReviewFoundFaults { evidence, .. }) =
            &recorded.event
        else {
            return None;
        };
        Some(ReviewRecord::read(&fixture.store().blobs().get(*evidence).unwrap()).unwrap())
    });
    records.collect()
}

async fn receipt(fixture: &Fixture, task: TaskId) -> Receipt {
    let history = fixture.store().history(task).await.unwrap();
    let receipt = history.events.iter().rev().find_map(|it| {
        let Event::PullRequestOpened { receipt, .. } = &it.event else { return None };
        Some(*receipt)
    });
    let bytes = fixture.store().blobs().get(receipt.unwrap()).unwrap();
    let signer = World::settings("x").signer.unwrap();
    let trusted: TrustedKeys = [signer.public()].into_iter().collect();
    Envelope::read(&bytes).unwrap().open(&trusted).unwrap().receipt
}

fn body(fixture: &Fixture) -> String {
    let branch = fixture.ledger.names("body").unwrap().remove(0);
    fixture.ledger.read("body", &branch.replace('|', "/")).unwrap()
}

#[tokio::test]
async fn a_finding_with_file_line_and_failing_input_is_sent_back_and_mended() {
    let fixture = Fixture::new().await;
    let (task, running) = begun(&fixture, "faults 1").await;
    fixture.wait_until(task, is_open).await;
    running.stop().await;
    let implementing = briefs(&fixture, task, "implement");
    assert_eq!(implementing.len(), 2);
    assert!(!implementing[0].contains(FOUND));
    assert!(implementing[1].contains(FOUND), "{implementing:?}");
    let reviewing = briefs(&fixture, task, "review");
    assert!(reviewing.iter().all(|it| !it.contains(FOUND)), "fresh eyes: {reviewing:?}");
    let review = receipt(&fixture, task).await.review;
    assert_eq!((review.rounds, review.fixed, review.open, review.dismissed), (2, 1, 0, 0));
}

#[tokio::test]
async fn after_two_rounds_of_mending_a_person_dismisses_what_is_left_and_it_is_delivered() {
    let fixture = Fixture::new().await;
    let (task, running) = begun(&fixture, "faults 9").await;
    let stuck = fixture.wait_until(task, is_stuck).await;
    assert_eq!(
        briefs(&fixture, task, "implement").len(),
        3,
        "the change, and two rounds of mending"
    );
    let rounds = found(&fixture, task).await;
    let finding = *rounds[0].ids().first().unwrap();
    assert!(rounds.iter().all(|it| it.ids().contains(&finding)), "the same in every round");
    let reviewed = stuck.held_back.unwrap().commit;

    let why = Some("the caller releases it".to_owned());
    let dismiss = Ask::Dismiss { finding, why: why.clone() };
    let refused = fixture.engine.ask(task, ann(), dismiss.clone()).await.unwrap_err();
    assert!(matches!(refused, SubmitError::Refused(Refusal::NotAllowed { .. })), "{refused}");
    let other = FindingId::of("src/login.rs", "something else", "an empty password");
    let refused = fixture.engine.ask(task, bob(), Ask::Dismiss { finding: other, why: None }).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, SubmitError::Refused(Refusal::NoSuchFinding { .. })), "{refused}");
    fixture.engine.ask(task, bob(), dismiss).await.unwrap();
    fixture.engine.ask(task, bob(), Ask::Resume).await.unwrap();
    let open = fixture.wait_until(task, is_open).await;
    running.stop().await;

    let Stage::PullRequestOpen { head, .. } = open.stage else { panic!() };
    assert_eq!(head, reviewed, "what was reviewed is what is delivered");
    assert_eq!(briefs(&fixture, task, "implement").len(), 3, "nobody was asked to mend it again");
    let receipt = receipt(&fixture, task).await;
    let review = receipt.review;
    assert_eq!(review.outcome, ReviewOutcome::Passed);
    assert_eq!((review.rounds, review.fixed, review.open, review.dismissed), (3, 0, 0, 1));
    let [dismissed] = receipt.dismissed.as_slice() else { panic!("{:?}", receipt.dismissed) };
    assert_eq!((dismissed.finding, dismissed.by.id), (finding.digest(), bob().id));
    assert_eq!(dismissed.why, why);
    let body = body(&fixture);
    assert!(body.contains("0 open, 1 dismissed"), "{body}");
    assert!(body.contains("(the caller releases it): src/login.rs:7: the lock is not"), "{body}");
}

#[tokio::test]
async fn a_dismissed_finding_that_is_found_again_is_not_mended_and_does_not_count() {
    let fixture = Fixture::new().await;
    let (task, running) = begun(&fixture, "faults 9").await;
    fixture.wait_until(task, is_stuck).await;
    let finding = *found(&fixture, task).await[0].ids().first().unwrap();
    fixture.engine.ask(task, bob(), Ask::Dismiss { finding, why: None }).await.unwrap();
    fixture.engine.ask(task, bob(), Ask::Resume).await.unwrap();
    let first = fixture.wait_until(task, is_open).await;
    let text = "the docs, too".to_owned();
    fixture.engine.ask(task, bob(), Ask::Message { text }).await.unwrap();
    let is_newer = |it: &Task| is_open(it) && it.stage != first.stage;
    fixture.wait_until(task, is_newer).await;
    running.stop().await;

    let rounds = found(&fixture, task).await;
    assert_eq!(rounds.len(), 4);
    assert!(rounds[3].ids().contains(&finding), "the reviewer said it again");
    let told = fixture.told(task).await;
    assert!(told.ends_with("review_passed\ncharged\npull_request_opened"), "{told}");
    let (implementing, reviewing) =
        (briefs(&fixture, task, "implement"), briefs(&fixture, task, "review"));
    let told = [implementing.last().unwrap(), reviewing.last().unwrap()];
    for told in told {
        let (to_mend, dismissed) = told.split_once("\ndismissed: ").unwrap();
        assert!(!to_mend.contains(FOUND), "{told}");
        assert!(dismissed.contains(&format!("{FOUND}\\nDismissed by a person.")), "{told}");
    }
    let receipt = receipt(&fixture, task).await;
    assert_eq!((receipt.review.open, receipt.review.dismissed), (0, 1));
}

#[tokio::test]
async fn conditions_that_are_narrowed_after_the_work_are_held_before_it_is_delivered() {
    let fixture = Fixture::new().await;
    let (task, running) = begun(&fixture, "strays; faults 9").await;
    fixture.wait_until(task, is_stuck).await;
    let finding = *found(&fixture, task).await[0].ids().first().unwrap();
    fixture.engine.ask(task, bob(), Ask::Dismiss { finding, why: None }).await.unwrap();
    let only = |paths: &[&str]| {
        let paths = paths.iter().map(|it| (*it).to_owned()).collect();
        Ask::Amend { conditions: Conditions { paths: Some(paths), ..Conditions::default() } }
    };
    fixture.engine.ask(task, bob(), only(&["src"])).await.unwrap();
    let is_drift = |it: &Task| {
        let Stage::Paused { why: PauseReason::Failure(failure), .. } = &it.stage else {
            return false;
        };
        failure.kind == FailureKind::PlanDrift && failure.message.contains("`secret/")
    };
    fixture.wait_until(task, is_drift).await;
    assert_eq!(briefs(&fixture, task, "implement").len(), 3, "nobody has worked since");
    fixture.engine.ask(task, bob(), only(&["src", "secret"])).await.unwrap();
    fixture.wait_until(task, is_open).await;
    running.stop().await;
}
