//! A host that may not be reached stops the work, is told as what it is, and is reached once a person allows it (PL8, EG7).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tests::internet::{PUBLIC, ok};
use wire::task::{ask::Amend, plan::Conditions, shown::Failure};

use crate::{
    actor,
    house::{House, policy_with},
    play::{Play, wish},
    repository::Repository,
};

/// Hosts that the policy of this house allows from the beginning, while agents implement.
pub(crate) const ALLOWED: [&str; 2] = ["narrow.example.com", "checks.example.com"];

/// A host that counts who reaches it.
fn counted(house: &House, host: &str) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&count);
    house.internet().points(host, &[PUBLIC]);
    house.internet().site(host, move |_| {
        counting.fetch_add(1, Ordering::SeqCst);
        ok("a + b")
    });
    count
}

/// Work that needs what a host says, and fails without it.
fn work(host: &str) -> String {
    format!(
        "Mend the sum.\n#implement\ncurl --fail --silent --show-error --max-time 20 https://{host}/sum > /tmp/sum\n\
         sed -i \"s/a - b/$(cat /tmp/sum)/\" sum.py\n"
    )
}

/// The file of an agent that asks for these hosts while it implements.
fn file(name: &str, hosts: &str, more: &str) -> String {
    let usual = "sandbox: { repositories: [{ name: any }] }\n";
    actor::file(name, &format!("{usual}egress: {{ implement: [{hosts}] }}\n{more}"))
}

fn is_blocked(failure: &Failure, phase: &str, host: &str) {
    let told = (failure.kind.as_str(), failure.phase.as_str());
    assert_eq!(told, ("egress_blocked", phase), "{failure:#?}");
    assert!(failure.message.contains(&format!("`{host}`")), "{failure:#?}");
    assert!(failure.remedy.contains("policy.yaml"), "{failure:#?}");
    assert!(!failure.last_lines.is_empty(), "{failure:#?}");
}

pub(crate) async fn a_host_that_the_policy_does_not_allow_is_reached_once_it_does(house: &House) {
    let host = "shut.example.com";
    let count = counted(house, host);
    let repository = Repository::make(&house.repositories(), "shut");
    house.rewrite("agents/shut.yaml", &file("shut", "", "")).await;
    let mut play = Play::begin_as(house, repository, &wish("shut", &work(host))).await;
    play.approve().await;
    is_blocked(&play.failure().await, "implement", host);
    assert_eq!(count.load(Ordering::SeqCst), 0, "nothing reached it");
    // To go on as before is no way around it.
    house.client.resume_task(&play.id).await.unwrap();
    is_blocked(&play.failure().await, "implement", host);
    let hosts: Vec<&str> = ALLOWED.iter().copied().chain([host]).collect();
    house.rewrite("policy.yaml", &policy_with(&hosts)).await;
    house.rewrite("agents/shut.yaml", &file("shut", host, "")).await;
    house.client.resume_task(&play.id).await.unwrap();
    play.land().await;
    assert_eq!(count.load(Ordering::SeqCst), 1, "the same task reached it");
}

pub(crate) async fn a_host_that_only_the_approval_leaves_out_is_reached_once_it_is_amended(
    house: &House,
) {
    let [host, _] = ALLOWED;
    let count = counted(house, host);
    let repository = Repository::make(&house.repositories(), "narrow");
    house.rewrite("agents/narrow.yaml", &file("narrow", host, "")).await;
    let mut play = Play::begin_as(house, repository, &wish("narrow", &work(host))).await;
    let only = |hosts: &[&str]| {
        let hosts = Some(hosts.iter().map(|&it| it.to_owned()).collect());
        Conditions { hosts, ..Conditions::default() }
    };
    play.approve_on(only(&[])).await;
    is_blocked(&play.failure().await, "implement", host);
    assert_eq!(count.load(Ordering::SeqCst), 0, "nothing reached it");
    house.client.amend(&play.id, &Amend { conditions: only(&[host]) }).await.unwrap();
    play.land().await;
    assert_eq!(count.load(Ordering::SeqCst), 1, "the same task reached it");
}

pub(crate) async fn checks_that_need_a_host_are_told_so_and_pass_once_it_is_allowed(house: &House) {
    let [_, host] = ALLOWED;
    let count = counted(house, host);
    let repository = Repository::make(&house.repositories(), "curious");
    let check = format!("curl --fail --silent --max-time 20 https://{host}/ && make test");
    let checks = format!("checks: [{{ name: tests, run: '{check}' }}]\n");
    house.rewrite("agents/curious.yaml", &file("curious", "", &checks)).await;
    let mut play = Play::begin_as(house, repository, &wish("curious", "Mend the sum.")).await;
    play.approve().await;
    let failure = play.failure().await;
    let told = (failure.kind.as_str(), failure.phase.as_str());
    assert_eq!(told, ("egress_blocked", "verify"), "{failure:#?}");
    assert!(failure.message.contains(&format!("`{host}`")), "{failure:#?}");
    let refused = house.client.task_checks(&play.id).await.unwrap_err().to_string();
    assert!(refused.contains("the checks were run, and came to no verdict"), "{refused}");
    assert!(refused.contains("egress_blocked"), "{refused}");
    let next = play.task().await.next.commands;
    assert!(next.iter().all(|it| !it.command.contains("amend")), "no approval helps: {next:#?}");
    house.rewrite("agents/curious.yaml", &file("curious", host, &checks)).await;
    house.client.resume_task(&play.id).await.unwrap();
    let pull = play.land().await;
    assert!(count.load(Ordering::SeqCst) >= 2, "on base and on head");
    // What failed only because of the host is not praised as mended: the test that found the bug is.
    assert!(pull.body.contains("**fixed**"), "{}", pull.body);
    let checks = house.client.task_checks(&play.id).await.unwrap();
    assert!(checks.checks[0].base.as_ref().is_some_and(|base| base.passed == 1), "{checks:#?}");
}
