//! What an operator wrote holds to the end: in the commit, on the branch and in the text of the pull request (RV2, RV3, RV6).

use std::{collections::BTreeSet, sync::Arc};

use domain::{
    approval::Conditions,
    id::TaskId,
    task::{Ask, ForgeNews, Stage, Task},
};
use engine::{Engine, Settings};
use evidence::{body::BodyTemplate, commit::Identity};
use testkit::{bob, clock::AnyClock, world::World};

use crate::fixture::Fixture;

fn is_open(task: &Task) -> bool {
    matches!(task.stage, Stage::PullRequestOpen { .. })
}

/// A task whose pull request is open, approved with conditions.
async fn delivered(fixture: &Fixture, text: &str, conditions: Conditions) -> TaskId {
    let task = fixture.submit(text).await;
    let running = fixture.run();
    let waiting = |it: &Task| matches!(it.stage, Stage::AwaitingApproval { .. });
    let Stage::AwaitingApproval { plan } = fixture.wait_until(task, waiting).await.stage else {
        panic!("there is no plan")
    };
    fixture.engine.ask(task, bob(), Ask::Approve { plan, conditions }).await.unwrap();
    fixture.wait_until(task, is_open).await;
    running.stop().await;
    task
}

/// The text of the only pull request, and its branch.
fn pull_request(fixture: &Fixture) -> (String, String) {
    let names = fixture.ledger.names("body").unwrap();
    let [name] = names.as_slice() else { panic!("one pull request, not {names:?}") };
    let branch = name.replace('|', "/").replace("acme/web/", "");
    (fixture.ledger.read("body", &name.replace('|', "/")).unwrap(), branch)
}

#[tokio::test]
async fn a_pull_request_names_the_commands_that_show_its_task_and_sandbox() {
    let fixture = Fixture::new().await;
    let task = delivered(&fixture, "fix it", Conditions::default()).await;
    let (body, branch) = pull_request(&fixture);
    assert_eq!(branch, format!("agent/{task}-fix-it"));
    assert!(body.contains(&format!("`lamp get {task}`")), "{body}");
    assert!(body.contains(&format!("`lamp shell {task}`")), "{body}");
    let taking = fixture.ledger.read("taking", &task.to_string()).unwrap();
    assert!(!taking.contains("Co-authored-by"), "{taking}");
}

#[tokio::test]
async fn co_authors_branch_template_and_links_are_those_that_are_written() {
    let settings = Settings {
        co_authors: vec![Identity::new("Ann Example", "ann@example.com").unwrap()],
        branches: "agent/web/{slug}-{task}".parse().unwrap(),
        body: Some(Arc::new(
            BodyTemplate::new("own.md", "Ours: {{ links.task }} {{ links.sandbox }}\n").unwrap(),
        )),
        pages: Some("https://lamp.example.com/".parse().unwrap()),
        ..World::settings("engine")
    };
    let fixture = Fixture::with(AnyClock::System, settings).await;
    let task = delivered(&fixture, "fix it", Conditions::default()).await;
    let taking = fixture.ledger.read("taking", &task.to_string()).unwrap();
    let trailer = "\nCo-authored-by: Ann Example <ann@example.com>\nLamplighter-Task: ";
    assert!(taking.contains(trailer), "{taking}");
    let (body, branch) = pull_request(&fixture);
    assert_eq!(branch, format!("agent/web/fix-it-{task}"));
    let links = format!(
        "Ours: https://lamp.example.com/v1/tasks/{task} https://lamp.example.com/v1/sandboxes/"
    );
    assert!(body.starts_with(&links), "{body}");
    assert!(!body.contains("## Summary"), "{body}");
}

/// A second pull request of one task would be worse than an old name.
#[tokio::test]
async fn an_open_pull_request_keeps_its_branch_when_the_template_changes() {
    let mut fixture = Fixture::new().await;
    let task = delivered(&fixture, "fix it", Conditions::default()).await;
    let settings =
        Settings { branches: "agent/new/{task}".parse().unwrap(), ..World::settings("engine") };
    let world = Arc::new(World::new(fixture.ledger.clone(), AnyClock::System));
    fixture.engine = Engine::new(Arc::clone(fixture.store()), world, settings);
    let Stage::PullRequestOpen { head, .. } = fixture.task(task).await.stage else { panic!() };
    let failed = ForgeNews::CheckFailed { head: head.clone(), check: "ci".to_owned() };
    fixture.engine.forge_says(task, failed).await.unwrap();
    let running = fixture.run();
    let is_newer =
        |it: &Task| matches!(&it.stage, Stage::PullRequestOpen { head: now, .. } if *now != head);
    fixture.wait_until(task, is_newer).await;
    running.stop().await;
    let (_, branch) = pull_request(&fixture);
    assert_eq!(branch, format!("agent/{task}-fix-it"));
}

#[tokio::test]
async fn a_condition_that_names_a_workflow_file_of_any_forge_approves_it() {
    for (named, told) in [
        (".gitlab-ci.yml", "workflows Approved\n"),
        (".circleci", "workflows Approved\n"),
        (".github/workflows/ci.yml", "workflows Approved\n"),
        ("Jenkinsfile", "workflows Approved\n"),
        (".github", "workflows NeedApproval\n"),
    ] {
        let fixture = Fixture::new().await;
        let paths = Some(BTreeSet::from(["src".to_owned(), named.to_owned()]));
        let conditions = Conditions { paths, ..Conditions::default() };
        let task = delivered(&fixture, "fix it", conditions).await;
        let taking = fixture.ledger.read("taking", &task.to_string()).unwrap();
        assert!(taking.starts_with(told), "{named}: {taking}");
    }
}
