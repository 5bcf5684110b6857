//! What others do to a pull request while nobody tells the engine: it is heard once, whenever the engine looks (PL10, RE1).

use contracts::forge::{Author, Check, CheckState, Comment, Outcome, PullRequests as _, PullState};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    id::TaskId,
    task::{Ask, DoneBecause, Event, Stage, Task, WakeCause},
    time::Timestamp,
};
use testkit::{ann, world::ScriptedPulls};

use crate::fixture::{Fixture, is_over};

fn repository() -> RepositoryName {
    "acme/web".parse().unwrap()
}

fn open(task: &Task) -> Option<(PullRequestNumber, CommitId)> {
    let Stage::PullRequestOpen { number, head, .. } = &task.stage else { return None };
    Some((*number, head.clone()))
}

fn comment(name: &str, author: Author) -> Comment {
    let (name, text) = (name.to_owned(), "also the docs".to_owned());
    Comment { name, author, at: Timestamp::from_millis(0), text, place: None }
}

fn carol() -> Author {
    Author::Person("carol".to_owned())
}

fn failed(name: &str, commit: CommitId) -> Check {
    let (name, summary) = (name.to_owned(), "1 failed".to_owned());
    Check { name, commit, state: CheckState::Ended(Outcome::Failed), summary }
}

/// A task with an open pull request, whose engine is gone.
async fn delivered(fixture: &Fixture) -> (TaskId, PullRequestNumber, CommitId) {
    delivered_as(fixture, "fix it").await
}

async fn delivered_as(fixture: &Fixture, script: &str) -> (TaskId, PullRequestNumber, CommitId) {
    let task = fixture.submit(script).await;
    let running = fixture.run();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    fixture.approve(task).await;
    let (number, head) = open(&fixture.wait_until(task, |it| open(it).is_some()).await).unwrap();
    running.stop().await;
    (task, number, head)
}

async fn woken(fixture: &Fixture, task: TaskId) -> Vec<WakeCause> {
    let history = fixture.store().history(task).await.unwrap();
    let woken = history.events.into_iter().filter_map(|recorded| {
        let Event::Woken { cause } = recorded.event else { return None };
        Some(cause)
    });
    woken.collect()
}

#[tokio::test]
async fn what_was_written_before_the_server_was_killed_is_heard_once_by_the_next() {
    let fixture = Fixture::new().await;
    let (task, number, head) = delivered(&fixture).await;
    // The forge has it; whoever would have told the task is gone.
    let pulls = ScriptedPulls::new(fixture.ledger.clone());
    pulls.comment(&repository(), number, &comment("1", carol())).await.unwrap();
    pulls.comment(&repository(), number, &comment("2", carol())).await.unwrap();
    pulls.check(&repository(), number, &failed("ci", head.clone())).await.unwrap();

    let running = fixture.run();
    let last = |it: &Task| open(it).is_some() && it.heard.len() == 3;
    let second = fixture.wait_until(task, last).await;
    let causes = woken(&fixture, task).await;
    assert_eq!(causes.len(), 2, "{causes:?}");
    assert_eq!(causes.first(), Some(&WakeCause::FailedCheck { check: "ci".to_owned() }));
    let Some(WakeCause::Remarks(remarks)) = causes.get(1) else { panic!("{causes:?}") };
    let names: Vec<(&str, &str)> =
        remarks.iter().map(|it| (it.name.as_str(), it.by.as_str())).collect();
    assert_eq!(names, [("1", "carol"), ("2", "carol")], "one follow-up is about all of them");
    assert_ne!(open(&second).unwrap().1, head);

    // However often anybody looks, and whoever repeats the comment.
    pulls.comment(&repository(), number, &comment("1", carol())).await.unwrap();
    for _ in 0..3 {
        fixture.engine.look_at_pull_request(task, &repository(), number).await.unwrap();
    }
    running.stop().await;
    assert_eq!(woken(&fixture, task).await, causes);
    assert_eq!(fixture.ledger.names("pull").unwrap().len(), 1);
}

#[tokio::test]
async fn a_head_wakes_its_task_no_more_often_than_its_limit_says() {
    let fixture = Fixture::new().await;
    let (task, number, head) = delivered_as(&fixture, "same").await;
    let pulls = ScriptedPulls::new(fixture.ledger.clone());
    // Of a commit that is not the newest, and what the platform itself said.
    let other = "b".repeat(40).parse().unwrap();
    pulls.check(&repository(), number, &failed("ci", other)).await.unwrap();
    pulls.check(&repository(), number, &failed("lamp/test", head.clone())).await.unwrap();
    pulls.comment(&repository(), number, &comment("1", Author::Platform)).await.unwrap();
    fixture.engine.look_at_pull_request(task, &repository(), number).await.unwrap();
    assert_eq!(woken(&fixture, task).await, []);
    pulls.comment(&repository(), number, &comment("2", carol())).await.unwrap();
    fixture.engine.look_at_pull_request(task, &repository(), number).await.unwrap();
    fixture.engine.look_at_pull_request(task, &repository(), number).await.unwrap();
    assert_eq!(woken(&fixture, task).await.len(), 1);

    // Each follow-up comes back to the same commit, so they are counted together.
    let running = fixture.run();
    for (name, count) in [("3", 2), ("4", 3)] {
        let back = |it: &Task| open(it).is_some() && it.heard.len() + 1 == count;
        fixture.wait_until(task, back).await;
        pulls.comment(&repository(), number, &comment(name, carol())).await.unwrap();
        fixture.engine.look_at_pull_request(task, &repository(), number).await.unwrap();
        assert_eq!(woken(&fixture, task).await.len(), count);
    }
    let last = fixture.wait_until(task, |it| open(it).is_some() && it.heard.len() == 3).await;
    assert_eq!(open(&last).unwrap().1, head);
    pulls.comment(&repository(), number, &comment("5", carol())).await.unwrap();
    fixture.engine.look_at_pull_request(task, &repository(), number).await.unwrap();
    let one_more = fixture.engine.ask(task, ann(), Ask::Message { text: "and more".to_owned() });
    let refused = one_more.await.unwrap_err().to_string();
    running.stop().await;
    assert!(refused.contains('3'), "the limit is named: {refused}");
    assert_eq!(woken(&fixture, task).await.len(), 3);
    assert_eq!(open(&fixture.task(task).await).unwrap().1, head);
}

#[tokio::test]
async fn the_pull_request_of_a_cancelled_task_is_closed_and_says_why() {
    let fixture = Fixture::new().await;
    let (task, number, _) = delivered(&fixture).await;
    fixture.engine.ask(task, ann(), Ask::Cancel).await.unwrap();
    let pulls = ScriptedPulls::new(fixture.ledger.clone());
    let pull = pulls.pull(&repository(), number).await.unwrap();
    assert_eq!(pull.state, PullState::Draft, "nobody has looked after it yet");
    let running = fixture.run();
    fixture.wait_until(task, is_over).await;
    running.stop().await;
    let pull = pulls.pull(&repository(), number).await.unwrap();
    assert!(matches!(pull.state, PullState::Closed { .. }), "{:?}", pull.state);
    let said: Vec<&str> = pull.comments.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(said.len(), 1);
    assert!(said.concat().contains(&format!("cancelled task {task}")), "{said:?}");
}

#[tokio::test]
async fn what_is_merged_stays_merged_when_its_task_is_cancelled() {
    let fixture = Fixture::new().await;
    let (task, number, head) = delivered(&fixture).await;
    let pulls = ScriptedPulls::new(fixture.ledger.clone());
    let merge = contracts::forge::Merge { head, base: "main".to_owned(), by: carol() };
    pulls.merge(&repository(), number, &merge).await.unwrap();
    fixture.engine.ask(task, ann(), Ask::Cancel).await.unwrap();
    let running = fixture.run();
    fixture.wait_until(task, is_over).await;
    running.stop().await;
    let pull = pulls.pull(&repository(), number).await.unwrap();
    assert!(matches!(pull.state, PullState::Merged { .. }), "{:?}", pull.state);
    assert_eq!(pull.comments, []);
}

#[tokio::test]
async fn a_merge_in_the_middle_of_a_follow_up_ends_the_task_as_merged_though_nobody_told_it() {
    let fixture = Fixture::new().await;
    let (task, number, head) = delivered(&fixture).await;
    let pulls = ScriptedPulls::new(fixture.ledger.clone());
    pulls.comment(&repository(), number, &comment("1", carol())).await.unwrap();
    fixture.engine.look_at_pull_request(task, &repository(), number).await.unwrap();
    let merge = contracts::forge::Merge { head, base: "main".to_owned(), by: carol() };
    pulls.merge(&repository(), number, &merge).await.unwrap();
    let running = fixture.run();
    let over = fixture.wait_until(task, is_over).await;
    running.stop().await;
    assert_eq!(over.stage, Stage::Done { because: DoneBecause::Merged });
}
