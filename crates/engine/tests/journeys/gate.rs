//! The gate, from outside the rules: refusals reach the person, and the audit log (GA1, GA3, GA5).

use domain::{
    approval::Conditions,
    id::TaskId,
    limits::Limits,
    people::{Person, Role},
    plan::PlanHash,
    request::{Trigger, Triggerer},
    task::{Ask, ForgeNews, Stage},
};
use engine::SubmitError;
use store::{Filter, Page};
use testkit::{ann, bob};

use crate::fixture::Fixture;

async fn at_the_gate(fixture: &Fixture, script: &str) -> (TaskId, PlanHash) {
    let task = fixture.submit(script).await;
    let running = fixture.run();
    let waiting =
        fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    running.stop().await;
    let Stage::AwaitingApproval { plan } = waiting.stage else { unreachable!() };
    (task, plan)
}

const NONE: Conditions =
    Conditions { paths: None, hosts: None, commands: None, budget: None, time: None };

#[tokio::test]
async fn nothing_that_a_forge_could_say_passes_the_gate() {
    let fixture = Fixture::new().await;
    let (task, _plan) = at_the_gate(&fixture, "fix it").await;
    let head = "a".repeat(40).parse().unwrap();
    let forged = ForgeNews::CheckFailed { head, check: "approved".to_owned() };
    for news in [forged, ForgeNews::Merged, ForgeNews::Closed, ForgeNews::TakenOver] {
        let refused = fixture.engine.forge_says(task, news).await.unwrap_err().to_string();
        assert!(refused.starts_with("a task that is awaiting approval cannot"), "{refused}");
    }
    assert_eq!(fixture.ledger.names("pull").unwrap(), Vec::<String>::new());
    assert_eq!(fixture.ledger.names("commit").unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_stale_plan_hash_is_refused_with_a_sentence_and_loses_nothing() {
    let fixture = Fixture::new().await;
    let (task, plan) = at_the_gate(&fixture, "fix it").await;
    let other: PlanHash = "0".repeat(64).parse().unwrap();
    let old = Ask::Approve { plan: other, conditions: NONE };
    let refused = fixture.engine.ask(task, bob(), old).await.unwrap_err().to_string();
    assert!(refused.ends_with("is the one waiting; read it and decide again"), "{refused}");
    let after =
        fixture.engine.ask(task, bob(), Ask::Approve { plan, conditions: NONE }).await.unwrap();
    assert!(after.stage.mandate().is_some());
}

#[tokio::test]
async fn an_attempt_without_the_right_is_refused_and_audited() {
    let fixture = Fixture::new().await;
    let (task, plan) = at_the_gate(&fixture, "fix it").await;
    let asked = fixture.engine.ask(task, ann(), Ask::Approve { plan, conditions: NONE }).await;
    assert_eq!(
        asked.unwrap_err().to_string(),
        "a delegator may not approve plans; ask an approver"
    );
    let log = fixture.store().audit_log(0).await.unwrap();
    let refused = log.iter().find(|link| link.entry.action == "refused").unwrap();
    assert_eq!(refused.entry.actor, ann().id.to_string());
    assert_eq!(refused.entry.subject, task.to_string());
    assert!(refused.entry.detail.contains("be approved"), "{}", refused.entry.detail);
    fixture.store().verify_audit().await.unwrap();
}

#[tokio::test]
async fn of_two_approvals_at_once_one_counts() {
    let fixture = Fixture::new().await;
    let (task, plan) = at_the_gate(&fixture, "fix it").await;
    let decide = || fixture.engine.ask(task, bob(), Ask::Approve { plan, conditions: NONE });
    let (one, two) = tokio::join!(decide(), decide());
    assert_eq!([one.is_ok(), two.is_ok()].iter().filter(|ok| **ok).count(), 1);
    assert_eq!(fixture.told(task).await.matches("approved").count(), 1);
}

#[tokio::test]
async fn a_change_outside_the_approved_paths_is_plan_drift() {
    let fixture = Fixture::new().await;
    let (task, plan) = at_the_gate(&fixture, "strays").await;
    let paths = Some(["src".to_owned()].into());
    let conditions = Conditions { paths, ..NONE };
    fixture.engine.ask(task, bob(), Ask::Approve { plan, conditions }).await.unwrap();
    let running = fixture.run();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::Paused { .. })).await;
    let view = fixture.store().task(task).await.unwrap().unwrap();
    assert_eq!(view.failure.as_deref(), Some("plan_drift"));
    let wider = Conditions { paths: Some(["src".to_owned(), "secret".to_owned()].into()), ..NONE };
    fixture.engine.ask(task, bob(), Ask::Amend { conditions: wider }).await.unwrap();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::PullRequestOpen { .. })).await;
    running.stop().await;
}

#[tokio::test]
async fn a_trigger_without_the_right_starts_nothing_and_is_audited() {
    let fixture = Fixture::new().await;
    let viewer = Person { role: Role::Viewer, ..ann() };
    let trigger = testkit::trigger("acme/web", "fix it").unwrap();
    let by_viewer = Trigger { by: Triggerer::Person(viewer), ..trigger.clone() };
    let bot = Triggerer::Bot { name: "evil[bot]".to_owned(), on_behalf_of: bob() };
    for trigger in [by_viewer, Trigger { by: bot, ..trigger }] {
        let refused = fixture.engine.submit(trigger, Limits::default()).await.unwrap_err();
        assert!(matches!(refused, SubmitError::NotStarted(_)), "{refused}");
    }
    assert_eq!(fixture.store().tasks(&Filter::default(), Page::default()).await.unwrap(), []);
    let log = fixture.store().audit_log(0).await.unwrap();
    let actors: Vec<&str> = log.iter().map(|link| link.entry.actor.as_str()).collect();
    assert_eq!(actors, [ann().id.to_string().as_str(), "bot evil[bot]"]);
}

#[tokio::test]
async fn the_same_id_is_the_same_request_or_nothing() {
    let fixture = Fixture::new().await;
    let task = TaskId::from_u128(7);
    let submit = |text: &str| {
        let trigger = testkit::trigger("acme/web", text).unwrap();
        fixture.engine.submit_as(task, trigger, Limits::default())
    };
    submit("fix it").await.unwrap();
    submit("fix it").await.unwrap();
    assert!(submit("something else").await.is_err());
    assert_eq!(fixture.told(task).await, "requested");
}
