//! Journeys on which nothing is in the way but what the script says.

use domain::task::{Event, Stage};
use testkit::inspect::inspect;

use crate::fixture::{Fixture, is_over};

#[tokio::test]
async fn a_request_becomes_a_merged_pull_request() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix the flaky login test").await;
    let done = fixture.play_until(task, is_over).await;
    assert!(matches!(done.stage, Stage::Done { .. }), "{:?}", done.stage);
    insta::assert_snapshot!(fixture.told(task).await);
    let verdict = inspect(fixture.store(), &fixture.ledger, &[task]).await.unwrap();
    assert!(verdict.is_clean(), "{verdict}");
}

#[tokio::test]
async fn what_people_are_told_reads_as_sentences() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("question").await;
    fixture.play_until(task, is_over).await;
    let news = fixture.news(task);
    insta::with_settings!({filters => vec![
        ("t_[0-9a-z]{26}", "[task]"),
        ("plan [0-9a-f]{12}", "plan [hash]"),
    ]}, {
        insta::assert_snapshot!(news);
    });
}

#[tokio::test]
async fn failing_checks_and_findings_go_back_to_the_agent() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("red 2; faults 1").await;
    fixture.play_until(task, is_over).await;
    let told = fixture.told(task).await;
    assert_eq!(told.matches("checks_failed").count(), 2, "{told}");
    assert_eq!(told.matches("review_found_faults").count(), 1, "{told}");
    assert_eq!(told.matches("pull_request_opened").count(), 1, "{told}");
}

#[tokio::test]
async fn the_evidence_of_every_event_is_kept() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("red 1").await;
    fixture.play_until(task, is_over).await;
    let history = fixture.store().history(task).await.unwrap();
    let blobs: Vec<_> = history.events.iter().filter_map(|it| it.event.blob()).collect();
    assert!(blobs.len() >= 4, "notes, failed checks, passed checks, review: {blobs:?}");
    for blob in blobs {
        assert!(!fixture.store().blobs().get(blob).unwrap().is_empty());
    }
}

#[tokio::test]
async fn the_research_sandbox_is_never_the_one_that_implements() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix it").await;
    fixture.play_until(task, is_over).await;
    let history = fixture.store().history(task).await.unwrap();
    let prepared: Vec<_> = history
        .events
        .iter()
        .filter_map(|it| {
            let Event::Prepared { sandbox, .. } = &it.event else { return None };
            Some(*sandbox)
        })
        .collect();
    assert_eq!(prepared.len(), 2);
    assert_ne!(prepared[0], prepared[1]);
}
