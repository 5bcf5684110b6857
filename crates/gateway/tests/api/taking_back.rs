//! Taking back what a task brought, and what becomes of pull requests that nobody wants.

use wire::{
    error::Code,
    pull::{MergePull, PullState},
    task::{
        ask::{Approve, PickedBy, RevertTask},
        new::NewTask,
    },
};

use crate::task_fixture::{TaskFixture, code, wish};

/// Brings a task to its pull request.
async fn delivered(fixture: &TaskFixture, task: &str) -> (u64, String) {
    let plan = fixture.wait(task, "awaiting approval").await.plan_waiting.unwrap();
    let approve = Approve { plan, ..Approve::default() };
    fixture.client().approve(task, &approve).await.unwrap();
    let open = fixture.wait(task, "pull request open").await;
    (open.pull_request.unwrap(), open.commit.unwrap())
}

#[tokio::test]
async fn a_merged_task_is_taken_back_by_one_pull_request_and_the_audit_log_says_so() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    let task = fixture.begin("fix it").await.id;
    let wait = RevertTask::default();
    assert_eq!(code(client.revert_task(&task, &wait).await), Code::NotNow, "nothing is delivered");
    let (number, head) = delivered(&fixture, &task).await;
    let early = client.revert_task(&task, &wait).await.unwrap_err();
    assert!(early.to_string().contains("is not merged: close it instead"), "{early}");

    client
        .merge_pull("acme/web", number, &MergePull { head, base: "main".to_owned() })
        .await
        .unwrap();
    fixture.wait(&task, "done").await;
    let back = client.revert_task(&task, &wait).await.unwrap();
    assert_eq!((back.reverts, &back.pull.state), (number, &PullState::Draft {}));
    for words in ["bob asked for it", &task, &format!("#{number}")] {
        assert!(back.pull.body.contains(words), "`{words}` in {}", back.pull.body);
    }
    assert!(back.pull.title.starts_with("Revert \""), "{}", back.pull.title);
    let again = client.revert_task(&task, &wait).await.unwrap();
    assert_eq!(again, back, "asked again, it is found");
    let merged = client.revert_task(&task, &RevertTask { merge: true }).await.unwrap();
    assert_eq!(merged.pull.number, back.pull.number);
    assert!(matches!(merged.pull.state, PullState::Merged { .. }), "{:?}", merged.pull.state);

    let audited = fixture.store().audit_log(0).await.unwrap();
    let asked = audited.iter().filter(|row| row.entry.action == "task.revert").count();
    assert!(asked >= 3, "{asked}");
}

#[tokio::test]
async fn whoever_is_not_picked_has_its_pull_request_closed() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    let two = NewTask { parallel: Some(2), ..wish("fix it") };
    let ids: Vec<String> =
        client.begin_task(&two, "two").await.unwrap().into_iter().map(|task| task.id).collect();
    let mut numbers = Vec::new();
    for id in &ids {
        numbers.push(delivered(&fixture, id).await.0);
    }
    let picked = client.pick(&ids[1], PickedBy::Person).await.unwrap();
    assert_eq!(picked.cancelled, ids[..1]);
    fixture.settled(&ids[0]).await;
    let loser = client.pull("acme/web", numbers[0]).await.unwrap();
    assert!(matches!(loser.state, PullState::Closed { .. }), "{:?}", loser.state);
    assert!(loser.comments[0].text.contains("cancelled task"), "{:?}", loser.comments);
    let winner = client.pull("acme/web", numbers[1]).await.unwrap();
    assert_eq!(winner.state, PullState::Draft {});
}

#[tokio::test]
async fn the_checks_pick_one_when_no_attempt_is_at_work_any_more() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    let three = NewTask { parallel: Some(3), ..wish("fix it") };
    let ids: Vec<String> =
        client.begin_task(&three, "three").await.unwrap().into_iter().map(|task| task.id).collect();
    let pick = async || client.pick(&ids[0], PickedBy::Checks).await;
    fixture.wait(&ids[2], "awaiting approval").await;
    delivered(&fixture, &ids[0]).await;
    assert_eq!(code(pick().await), Code::NotNow);
    let early = pick().await.unwrap_err();
    assert!(early.to_string().contains(&format!("{} is awaiting approval", ids[2])), "{early}");

    delivered(&fixture, &ids[1]).await;
    client.cancel_task(&ids[2]).await.unwrap();
    let picked = pick().await.unwrap();
    assert_eq!((&picked.task.id, picked.cancelled), (&ids[0], vec![ids[1].clone()]));
    assert_eq!(picked.over, [ids[2].clone()]);
    assert!(picked.why.is_some_and(|why| why.contains("begun first")));
    let alone = fixture.begin("alone").await;
    assert_eq!(code(client.pick(&alone.id, PickedBy::Checks).await), Code::NotNow);
}
