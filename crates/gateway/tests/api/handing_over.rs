//! Handing over a task once for each key, several attempts side by side, and lists that are paged.

use std::collections::BTreeSet;

use wire::{
    error::Code,
    task::{
        ask::PickedBy,
        new::{NewTask, Variant},
        shown::{Standing, TaskQuery},
    },
};

use crate::task_fixture::{TaskFixture, code, uuid_like, web, wish};

#[tokio::test]
async fn the_same_key_begins_one_task_also_after_a_restart() {
    let mut fixture = TaskFixture::new().await;
    let timed = uuid_like();
    let mut begun = Vec::new();
    for key in [timed.as_str(), "deploy-7"] {
        let first = fixture.client().begin_task(&wish("fix it"), key).await.unwrap();
        let again = fixture.client().begin_task(&wish("fix it"), key).await.unwrap();
        assert_eq!(first[0].id, again[0].id);
        let other = fixture.client().begin_task(&wish("break it"), key).await;
        assert_eq!(code(other), Code::KeyReused);
        begun.push((key, first[0].id.clone()));
    }
    fixture = fixture.restarted().await;
    for (key, id) in &begun {
        let again = fixture.client().begin_task(&wish("fix it"), key).await.unwrap();
        assert_eq!(again[0].id, *id);
    }
    assert_eq!(fixture.client().tasks(&TaskQuery::default()).await.unwrap().tasks.len(), 2);
}

#[tokio::test]
async fn many_calls_with_one_key_at_once_begin_one_task() {
    let fixture = TaskFixture::new().await;
    for key in ["plain", &uuid_like()] {
        let calls = (0..8).map(|_| {
            let client = fixture.client();
            async move { client.begin_task(&wish("fix it"), key).await.unwrap()[0].id.clone() }
        });
        let ids: BTreeSet<String> = futures::future::join_all(calls).await.into_iter().collect();
        assert_eq!(ids.len(), 1);
    }
}

#[tokio::test]
async fn a_key_that_is_none_is_refused() {
    let fixture = TaskFixture::new().await;
    for key in ["", "a b", &"x".repeat(256)] {
        assert_eq!(code(fixture.client().begin_task(&wish("x"), key).await), Code::BadRequest);
    }
    let future = "ffffffff-ffff-7fff-8fff-ffffffffffff";
    assert_eq!(code(fixture.client().begin_task(&wish("x"), future).await), Code::BadRequest);
}

#[tokio::test]
async fn attempts_side_by_side_know_each_other_and_one_is_picked() {
    let fixture = TaskFixture::new().await;
    let client = fixture.client();
    let three = NewTask { parallel: Some(3), ..wish("fix it") };
    let begun = client.begin_task(&three, "three").await.unwrap();
    let ids: Vec<String> = begun.iter().map(|task| task.id.clone()).collect();
    assert_eq!(ids.len(), 3);
    let shorts: BTreeSet<&str> = begun.iter().map(|task| task.short.as_str()).collect();
    assert_eq!(shorts.len(), 3, "each can be typed");
    for task in &begun {
        let found = client.task(&task.short).await.unwrap();
        assert_eq!(found.id, task.id);
        let siblings: Vec<String> = found.siblings.iter().map(|it| it.id.clone()).collect();
        let others: Vec<String> = ids.iter().filter(|id| **id != task.id).cloned().collect();
        assert_eq!(siblings, others);
    }
    let same = client.begin_task(&three, "three").await.unwrap();
    assert_eq!(same.iter().map(|task| task.id.clone()).collect::<Vec<_>>(), ids);
    for parallel in [Some(2), Some(4), None] {
        let other = NewTask { parallel, ..wish("fix it") };
        assert_eq!(code(client.begin_task(&other, "three").await), Code::KeyReused);
    }
    let picked = client.pick(&ids[1], PickedBy::Person).await.unwrap();
    assert_eq!(picked.cancelled, [ids[0].clone(), ids[2].clone()]);
    let again = client.pick(&ids[1], PickedBy::Person).await.unwrap();
    assert_eq!((again.cancelled.len(), again.over.len()), (0, 2));
    assert_eq!(client.task(&ids[0]).await.unwrap().standing, Standing::Over);
    assert_ne!(client.task(&ids[1]).await.unwrap().standing, Standing::Over);
    assert_eq!(
        code(client.pick(&ids[0], PickedBy::Person).await),
        Code::NotNow,
        "it was cancelled"
    );
    let alone = fixture.begin("alone").await;
    assert!(alone.siblings.is_empty());
    assert_eq!(code(client.pick(&alone.id, PickedBy::Person).await), Code::NotNow);
}

#[tokio::test]
async fn each_attempt_may_ask_another_model() {
    let fixture = TaskFixture::new().await;
    let model = |name: &str| Variant { model: Some(name.to_owned()), ..Variant::default() };
    let wish = NewTask {
        variants: vec![model("large"), Variant::default()],
        parallel: Some(3),
        model: Some("small".to_owned()),
        ..wish("fix it")
    };
    let begun = fixture.client().begin_task(&wish, "models").await.unwrap();
    let models: Vec<&str> = begun.iter().map(|task| task.model.as_deref().unwrap()).collect();
    assert_eq!(models, ["large", "small", "small"]);
    let mut other = wish.clone();
    other.variants = vec![model("larger")];
    assert_eq!(code(fixture.client().begin_task(&other, "models").await), Code::KeyReused);
}

#[tokio::test]
async fn what_makes_no_task_is_refused() {
    let fixture = TaskFixture::new().await;
    let mut other = web();
    other.name = "../x".to_owned();
    let wishes = [
        NewTask { text: " \n".to_owned(), ..wish("x") },
        NewTask { repositories: Vec::new(), ..wish("x") },
        NewTask { repositories: vec![web(); 17], ..wish("x") },
        NewTask { repositories: vec![other], ..wish("x") },
        NewTask { parallel: Some(0), ..wish("x") },
        NewTask { parallel: Some(9), ..wish("x") },
        NewTask { attempts: Some(0), ..wish("x") },
        NewTask { variants: vec![Variant::default(); 9], ..wish("x") },
        NewTask {
            variants: vec![Variant { agent: Some("No".to_owned()), model: None }],
            ..wish("x")
        },
        NewTask { agent: Some("No Agent".to_owned()), ..wish("x") },
        NewTask { model: Some(String::new()), ..wish("x") },
    ];
    for wish in wishes {
        let begun = fixture.client().begin_task(&wish, &uuid_like()).await;
        assert_eq!(code(begun), Code::BadRequest, "{wish:?}");
    }
    let long = wish(&"x".repeat(70_000));
    assert_eq!(code(fixture.client().begin_task(&long, "k").await), Code::TooLarge);
    let endless = wish(&"x".repeat(600_000));
    assert_eq!(code(fixture.client().begin_task(&endless, "k").await), Code::TooLarge);
    assert!(fixture.client().tasks(&TaskQuery::default()).await.unwrap().tasks.is_empty());
}

#[tokio::test]
async fn lists_come_in_pages_newest_first() {
    let fixture = TaskFixture::new().await;
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(fixture.begin(&format!("task {number}")).await.id);
    }
    ids.reverse();
    let client = fixture.client();
    let (mut after, mut seen, mut pages) = (None, Vec::new(), 0);
    loop {
        let query = TaskQuery { limit: Some(3), after, ..TaskQuery::default() };
        let page = client.tasks(&query).await.unwrap();
        pages += 1;
        seen.extend(page.tasks.into_iter().map(|task| task.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((seen, pages), (ids.clone(), 3));
    let of = |state: &str, repository: &str| TaskQuery {
        state: Some(state.to_owned()),
        repository: Some(repository.to_owned()),
        ..TaskQuery::default()
    };
    assert_eq!(client.tasks(&of("queued", "acme/web")).await.unwrap().tasks.len(), 7);
    assert!(client.tasks(&of("pull_request_open", "acme/web")).await.unwrap().tasks.is_empty());
    assert!(client.tasks(&of("queued", "acme/api")).await.unwrap().tasks.is_empty());
    assert_eq!(code(client.tasks(&of("dreaming", "acme/web")).await), Code::BadRequest);
    for limit in [0, 501] {
        let query = TaskQuery { limit: Some(limit), ..TaskQuery::default() };
        assert_eq!(code(client.tasks(&query).await), Code::BadRequest);
    }
    let odd = TaskQuery { after: Some("yesterday".to_owned()), ..TaskQuery::default() };
    assert_eq!(code(client.tasks(&odd).await), Code::BadRequest);
    // All were made within moments, so that the first letters are those of all.
    let common = &ids[0][..6];
    assert_eq!(code(client.task(common).await), Code::BadRequest, "{common}");
}
