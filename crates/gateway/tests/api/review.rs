//! What a reviewer found, and a person's word about it.

use wire::{
    error::Code,
    task::{
        ask::{Approve, DismissFinding},
        event::TaskEvent,
        review::TaskReview,
        transcript::PageQuery,
    },
};

use crate::task_fixture::{TaskFixture, code};

fn wish(finding: &str, why: Option<&str>) -> DismissFinding {
    DismissFinding { finding: finding.to_owned(), why: why.map(str::to_owned) }
}

/// A task that its reviewer sent back too often, and what was found.
async fn stuck(fixture: &TaskFixture) -> (String, TaskReview) {
    fixture.run();
    let task = fixture.begin("faults 9").await.id;
    let plan = fixture.wait(&task, "awaiting approval").await.plan_waiting.unwrap();
    fixture.client().approve(&task, &Approve { plan, ..Approve::default() }).await.unwrap();
    fixture.wait(&task, "paused").await;
    let review = fixture.client().task_review(&task).await.unwrap();
    (task, review)
}

#[tokio::test]
async fn a_finding_is_dismissed_by_its_id_and_the_task_is_delivered() {
    let fixture = TaskFixture::new().await;
    let client = fixture.client();
    let (task, review) = stuck(&fixture).await;
    let [finding] = review.findings.as_slice() else { panic!("{review:?}") };
    assert!(!review.passed && finding.dismissed.is_none());
    assert_eq!((finding.path.as_str(), finding.line), ("src/login.rs", 7));
    assert_eq!(finding.failing_input, "an empty password");
    let paused = client.task(&task).await.unwrap();
    let next: Vec<&str> = paused.next.commands.iter().map(|it| it.command.as_str()).collect();
    assert_eq!(next[0], format!("lamp review {}", paused.short));
    assert_eq!(next[1], format!("lamp review {} --dismiss ID", paused.short));

    let short = client.dismiss(&task, &wish(&finding.id[..12], None)).await;
    assert_eq!(code(short), Code::BadRequest, "only the whole id says which");
    assert_eq!(code(client.dismiss(&task, &wish(&"0".repeat(64), None)).await), Code::NotFound);
    for odd in ["", "two\nlines", "\u{202e}"] {
        let refused = client.dismiss(&task, &wish(&finding.id, Some(odd))).await;
        assert_eq!(code(refused), Code::BadRequest, "{odd:?}");
    }
    let why = Some("the caller releases it");
    let dismissed = client.dismiss(&task, &wish(&finding.id, why)).await.unwrap();
    assert_eq!(dismissed.state, "paused", "nothing moves before somebody lets it go on");
    assert!(dismissed.next.sentence.contains("is delivered when it goes on"));
    let [told] = dismissed.dismissed.as_slice() else { panic!("{dismissed:?}") };
    assert_eq!((&told.id, told.why.as_deref()), (&finding.id, why));
    assert_eq!(told.by.name.as_deref(), Some("bob"));
    assert_eq!(told.finding.as_ref().unwrap().what, finding.what);
    assert_eq!(code(client.dismiss(&task, &wish(&finding.id, None)).await), Code::Stale);

    let review = client.task_review(&task).await.unwrap();
    assert!(review.passed, "nothing is left");
    let dismissal = review.findings[0].dismissed.as_ref().unwrap();
    assert_eq!((dismissal.by.name.as_deref(), dismissal.why.as_deref()), (Some("bob"), why));
    client.resume_task(&task).await.unwrap();
    let open = fixture.wait(&task, "pull request open").await;
    assert_eq!(open.dismissed, dismissed.dismissed);
    let events = client.task_events(&task, PageQuery::default()).await.unwrap().events;
    let said = events.iter().filter(|it| {
        matches!(&it.event, TaskEvent::FindingDismissed { finding: id, .. } if *id == finding.id)
    });
    assert_eq!(said.count(), 1);
}

#[tokio::test]
async fn who_may_not_approve_may_not_dismiss() {
    let fixture = TaskFixture::of(testkit::ann(), crate::task_fixture::PATIENCE).await;
    fixture.run();
    let task = fixture.begin("faults 9").await.id;
    fixture.wait(&task, "awaiting approval").await;
    let refused = fixture.client().dismiss(&task, &wish(&"0".repeat(64), None)).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!(problem.code, Code::Forbidden);
    assert_eq!(problem.message, "a delegator may not do that to this task");
}
