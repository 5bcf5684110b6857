//! Parts of the house die in the middle of a task's work: it is told by its name, or not at all, and the task comes to its end.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::process::{Pid, Signal, kill_process};
use testkit::model::Asked;
use wire::task::{ask::Retry, event::TaskEvent};

use crate::{
    host::{self, Process, Rank},
    house::House,
    play::{Play, wish},
    repository::Repository,
    straight::tell_the_story,
};

pub(crate) async fn a_guest_that_is_killed_is_told_and_the_task_lands_when_it_is_retried(
    house: &House,
) {
    let body = |at_work: &Process, all: &[Process]| vec![first(at_work, all)];
    is_told_and_retried(house, "7001", body).await;
}

pub(crate) async fn a_sandbox_that_is_killed_is_told_and_the_task_lands_when_it_is_retried(
    house: &House,
) {
    let body = |at_work: &Process, all: &[Process]| {
        let same = all.iter().filter(|one| one.body.is_some() && one.body == at_work.body);
        let mut pids: Vec<i32> = same.map(|one| one.pid).collect();
        // Where there are no control groups, its first process takes all others along.
        pids.push(first(at_work, all));
        pids
    };
    is_told_and_retried(house, "7002", body).await;
}

/// The first process of the sandbox that a process is in.
fn first(of: &Process, all: &[Process]) -> i32 {
    let mut at = of;
    while at.rank != Rank::First {
        at = all.iter().find(|one| one.pid == at.parent).expect("it runs in a sandbox");
    }
    at.pid
}

/// Kills what `victims` names of a sandbox in the middle of its work. The number is in the agent's command, and so finds its process.
async fn is_told_and_retried(
    house: &House,
    number: &str,
    victims: impl Fn(&Process, &[Process]) -> Vec<i32>,
) {
    let repository = Repository::make(&house.repositories(), &format!("lost-{number}"));
    let request = format!(
        "Mend the sum.\n#implement\n\
         test -f ready || {{ echo $((40 + 2)) never ends; tail -s {number} -f /dev/null; }}\n\
         sed -i 's/a - b/a + b/' sum.py\n"
    );
    let mut play = Play::begin(house, repository, &request).await;
    play.approve().await;
    play.until_said("42 never ends").await;
    let (all, at_work) = house
        .found("the agent's process", || {
            let all = host::descendants();
            let found = all.iter().find(|one| runs(one.pid, &["tail", number])).cloned()?;
            Some((all, found))
        })
        .await;
    for pid in victims(&at_work, &all) {
        kill(pid);
    }
    let failure = play.failure().await;
    assert_eq!(
        (failure.kind.as_str(), failure.phase.as_str()),
        ("sandbox_lost", "implement"),
        "{failure:#?}"
    );
    assert!(failure.remedy.contains("lamp retry"), "{failure:#?}");
    play.repository.commit("ready", "");
    let retry = Retry { from: Some("implement".to_owned()) };
    house.client.retry_task(&play.id, &retry).await.unwrap();
    play.again();
    play.land().await;
    house.told_last(&play.id, "Merged. The task is done.").await;
}

pub(crate) async fn a_gateway_that_is_killed_while_a_model_answers_is_replaced_and_the_task_goes_on(
    house: &House,
) {
    let repository = Repository::make(&house.repositories(), "lost-gateway");
    let request = "The sum is wrong, says the scene about the gateway.";
    let killed = Arc::new(AtomicBool::new(false));
    let (once, words) = (Arc::clone(&killed), request.to_owned());
    // Asked first of all rules, it kills and plays nothing itself.
    let kills = move |asked: &Asked<'_>| {
        let is_time = asked.text.contains("# Phase: implement") && asked.text.contains(&words);
        if is_time && !once.swap(true, Ordering::SeqCst) {
            let gateways = host::descendants();
            let gateways = gateways.iter().filter(|one| runs(one.pid, &["lamp-proxy"]));
            gateways.for_each(|one| kill(one.pid));
        }
        false
    };
    house.model.when(kills, testkit::model::Script::new());
    tell_the_story(house, request);
    let mut play = Play::begin_as(house, repository, &wish("builtin", request)).await;
    play.finish().await;
    assert!(killed.load(Ordering::SeqCst), "the gateway was killed");
    assert_eq!(play.count(|event| matches!(event, TaskEvent::PullRequestOpened { .. })), 1);
    house.told_last(&play.id, "Merged. The task is done.").await;
}

/// Whether a process was started with these words among its own.
fn runs(pid: i32, words: &[&str]) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).into_owned();
    let all: Vec<&str> = line.split('\0').collect();
    words.iter().all(|word| all.iter().any(|one| one.ends_with(word)))
}

fn kill(pid: i32) {
    // One that the others took along is gone already.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}
