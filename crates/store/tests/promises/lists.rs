//! Lists: every task once, newest first, whatever is added while someone reads.

use domain::id::{PersonId, TaskId};
use store::{Filter, Page, Store, TaskView};

use crate::{
    home::Home,
    life::{Life, id, request},
};

on_both!(
    pages_have_no_gaps_and_no_repeats_while_tasks_are_added,
    every_filter_gives_what_it_names,
    the_inbox_begins_with_the_plan_that_waits_longest,
    a_decision_between_two_pages_of_the_inbox_hides_nothing,
    a_page_is_never_longer_than_the_longest,
);

fn numbers(views: &[TaskView]) -> Vec<u128> {
    views.iter().map(|view| view.task.as_u128()).collect()
}

async fn page(store: &Store, filter: &Filter, before: Option<TaskId>, size: u32) -> Vec<TaskView> {
    store.tasks(filter, Page { before, size }).await.unwrap()
}

async fn pages_have_no_gaps_and_no_repeats_while_tasks_are_added(home: Home) {
    let store = &home.store;
    for number in 1..=23 {
        Life::begin(store, number, 0).await;
    }
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let views = page(store, &Filter::default(), before, 5).await;
        let Some(last) = views.last() else { break };
        before = Some(last.task);
        seen.extend(numbers(&views));
        // Newer than all; it belongs before the first page, and is not seen on a later one.
        Life::begin(store, 100 + seen.len() as u128, 0).await;
    }
    assert_eq!(seen, (1..=23).rev().collect::<Vec<u128>>());
}

async fn every_filter_gives_what_it_names(home: Home) {
    let store = &home.store;
    for number in 1..=24u128 {
        let repository = if number % 2 == 0 { "acme/web" } else { "acme/api" };
        let person = number % 3;
        let mut life = Life::begin_as(store, number, request(repository, person), 0).await;
        if number % 4 < 2 {
            life.report(store, domain::task::Report::Admitted, 1).await;
        }
    }
    let everything = page(store, &Filter::default(), None, 100).await;
    assert_eq!(everything.len(), 24);
    let choices = [None, Some(())];
    for repository in choices.map(|it| it.map(|()| "acme/web".parse().unwrap())) {
        for person in choices.map(|it| it.map(|()| PersonId::from_u128(1))) {
            for stage in choices.map(|it| it.map(|()| "preparing".to_owned())) {
                let filter = Filter { repository: repository.clone(), person, stage };
                let holds = |view: &&TaskView| {
                    filter.repository.as_ref().is_none_or(|it| *it == view.repository)
                        && filter.person.is_none_or(|it| it == view.person)
                        && filter.stage.as_ref().is_none_or(|it| *it == view.stage)
                };
                let expected: Vec<TaskView> = everything.iter().filter(holds).cloned().collect();
                assert!(!expected.is_empty(), "{filter:?}");
                let mut found = page(store, &filter, None, 2).await;
                while found.len() < expected.len() {
                    let next = page(store, &filter, found.last().map(|view| view.task), 2).await;
                    assert!(!next.is_empty(), "{filter:?}");
                    found.extend(next);
                }
                assert_eq!(found, expected, "{filter:?}");
                let end = page(store, &filter, found.last().map(|view| view.task), 2).await;
                assert_eq!(end, [], "{filter:?}");
            }
        }
    }
    let nobody = Filter { stage: Some("' OR 1 = 1 --".to_owned()), ..Filter::default() };
    assert_eq!(page(store, &nobody, None, 9).await, []);
}

async fn at_the_gate(store: &Store, number: u128, when: i64) -> Life {
    let mut life = Life::begin(store, number, 0).await;
    life.reach_the_gate(store, when).await;
    life
}

async fn the_inbox_begins_with_the_plan_that_waits_longest(home: Home) {
    let store = &home.store;
    for (number, when) in [(1, 500), (2, 100), (3, 300), (4, 300)] {
        at_the_gate(store, number, when).await;
    }
    Life::begin(store, 9, 0).await;
    let inbox = store.inbox(Page::default()).await.unwrap();
    assert_eq!(numbers(&inbox), [2, 3, 4, 1]);
    assert!(inbox.iter().all(|view| view.plan.is_some() && view.stage == "awaiting approval"));
    let second = Page { before: Some(id(3)), size: 1 };
    assert_eq!(numbers(&store.inbox(second).await.unwrap()), [4]);
    let stranger = Page { before: Some(id(77)), size: 9 };
    assert_eq!(store.inbox(stranger).await.unwrap(), []);
}

async fn a_decision_between_two_pages_of_the_inbox_hides_nothing(home: Home) {
    let store = &home.store;
    let mut lives = Vec::new();
    for number in 1..=6 {
        lives.push(at_the_gate(store, number, i64::try_from(number).unwrap()).await);
    }
    let first = store.inbox(Page { before: None, size: 3 }).await.unwrap();
    for life in &mut lives[..3] {
        life.approve(store, 1_000).await;
    }
    let last = first.last().map(|view| view.task);
    let second = store.inbox(Page { before: last, size: 3 }).await.unwrap();
    assert_eq!((numbers(&first), numbers(&second)), (vec![1, 2, 3], vec![4, 5, 6]));
}

async fn a_page_is_never_longer_than_the_longest(home: Home) {
    let begin = (1..=510).map(|number| Life::begin(&home.store, number, 0));
    futures::future::join_all(begin).await;
    let all = page(&home.store, &Filter::default(), None, u32::MAX).await;
    assert_eq!(all.len(), 500);
    assert_eq!(page(&home.store, &Filter::default(), None, 0).await, []);
}
