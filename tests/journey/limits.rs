//! What a task may use and do has limits. Each is told by its name, and a person can raise it.

use testkit::model::Script;
use wire::{
    money::Money,
    task::{
        ask::{Amend, RaiseBudget, Retry},
        event::TaskEvent,
        new::NewTask,
        plan::Conditions,
    },
};

use crate::{
    house::House,
    play::{Play, wish},
    repository::Repository,
    straight::tell_the_story,
};

pub(crate) async fn an_agent_that_needs_too_much_memory_is_told_with_its_peak(house: &House) {
    let repository = Repository::make(&house.repositories(), "greedy-agent");
    let request = "Mend the sum.\n#implement\necho hungry >&2\npython3 -c 'x = bytearray(1 << 30); print(len(x))'\n";
    let mut play = Play::begin_as(house, repository, &wish("small", request)).await;
    play.approve().await;
    is_out_of_memory(&mut play, "implement").await;
}

pub(crate) async fn a_check_that_needs_too_much_memory_is_told_with_its_peak(house: &House) {
    let repository = Repository::make(&house.repositories(), "greedy-check");
    let mut play = Play::begin_as(house, repository, &wish("greedy", "Mend the sum.")).await;
    play.approve().await;
    is_out_of_memory(&mut play, "verify").await;
}

async fn is_out_of_memory(play: &mut Play<'_>, phase: &str) {
    let failure = play.failure().await;
    assert_eq!((failure.kind.as_str(), failure.phase.as_str()), ("oom", phase), "{failure:#?}");
    let peak = failure.message.split(' ').filter_map(|word| word.parse::<u32>().ok()).max();
    let near = peak.is_some_and(|mib| (200..=300).contains(&mib));
    assert!(near && failure.message.contains("MiB"), "{failure:#?}");
    assert!(failure.last_lines.iter().any(|line| line.contains("hungry")), "{failure:#?}");
    play.cancel().await;
}

pub(crate) async fn an_agent_that_fills_its_disk_is_told_so(house: &House) {
    let repository = Repository::make(&house.repositories(), "heap");
    let request = "Mend the sum.\n#implement\nsed -i 's/a - b/a + b/' sum.py\n\
        dd if=/dev/urandom of=$HOME/heap bs=1M count=1024\n";
    let mut play = Play::begin_as(house, repository, &wish("small-disk", request)).await;
    play.approve().await;
    let failure = play.failure().await;
    let told = (failure.kind.as_str(), failure.phase.as_str());
    assert_eq!(told, ("disk_full", "implement"), "{failure:#?}");
    assert!(failure.message.contains("no room left on its disk of 256 MiB"), "{failure:#?}");
    assert!(failure.last_lines.iter().any(|line| line.contains("dd:")), "{failure:#?}");
    play.cancel().await;
}

pub(crate) async fn a_budget_that_is_hit_pauses_and_a_larger_one_goes_on(house: &House) {
    let repository = Repository::make(&house.repositories(), "dear");
    let request = "The sum is wrong, says the scene about money.";
    tell_the_story(house, request);
    // One answer of this model costs two cents.
    let wish = NewTask {
        model: Some("gpt-5-pro".to_owned()),
        budget_micros: Some(10_000),
        ..wish("builtin", request)
    };
    let mut play = Play::begin_as(house, repository, &wish).await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "budget_hit", "{failure:#?}");
    let usage = house.client.task_usage(&play.id).await.unwrap();
    assert!(usage.total.money.micros <= 10_000, "not a cent more: {usage:#?}");
    house.client.raise_budget(&play.id, &RaiseBudget { to_micros: 5_000_000 }).await.unwrap();
    play.until("the larger budget", |event| {
        matches!(event, TaskEvent::BudgetRaised { to: Money { .. }, .. }).then_some(())
    })
    .await;
    play.finish().await;
    let usage = house.client.task_usage(&play.id).await.unwrap();
    assert!(usage.total.money.micros > 10_000, "{usage:#?}");
}

pub(crate) async fn work_outside_the_approved_paths_pauses_until_somebody_amends(house: &House) {
    let repository = Repository::make(&house.repositories(), "drift");
    let mut play = Play::begin(house, repository, "Mend the sum.").await;
    let only =
        |path: &str| Conditions { paths: Some(vec![path.to_owned()]), ..Conditions::default() };
    play.approve_on(only("docs")).await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "plan_drift", "{failure:#?}");
    assert!(failure.message.contains("sum.py"), "{failure:#?}");
    assert!(play.repository.branches().is_empty(), "nothing has left the sandbox");
    let amended = Amend { conditions: only("sum.py") };
    house.client.amend(&play.id, &amended).await.unwrap();
    play.land().await;
}

pub(crate) async fn a_host_that_the_approval_does_not_allow_pauses_until_somebody_amends(
    house: &House,
) {
    let repository = Repository::make(&house.repositories(), "host");
    let request = "Mend the sum.\n#implement\nsed -i 's/a - b/a + b/' sum.py\n\
        grep -q 'may be asked' \"$HEARD\" || curl --silent --show-error --max-time 20 https://docs.example.com/ || true\n";
    let mut play = Play::begin(house, repository, request).await;
    let none = Conditions { hosts: Some(Vec::new()), ..Conditions::default() };
    play.approve_on(none).await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "plan_drift", "{failure:#?}");
    assert!(failure.message.contains("docs.example.com"), "{failure:#?}");
    let words = wire::task::ask::SendMessage { text: "It may be asked, but need not.".to_owned() };
    house.client.message(&play.id, &words).await.unwrap();
    let hosts = Some(vec!["docs.example.com".to_owned()]);
    let amended = Amend { conditions: Conditions { hosts, ..Conditions::default() } };
    house.client.amend(&play.id, &amended).await.unwrap();
    play.land().await;
}

pub(crate) async fn an_agent_that_crashes_is_told_with_its_last_words_and_can_be_retried(
    house: &House,
) {
    let repository = Repository::make(&house.repositories(), "crash");
    let request = "Mend the sum.\n#implement\ntest -f ready || { echo out of ideas >&2; exit 7; }\n\
        sed -i 's/a - b/a + b/' sum.py\n";
    let mut play = Play::begin(house, repository, request).await;
    play.approve().await;
    let failure = play.failure().await;
    assert_eq!((failure.kind.as_str(), failure.phase.as_str()), ("agent_error", "implement"));
    assert!(failure.last_lines.iter().any(|line| line.contains("out of ideas")), "{failure:#?}");
    std::fs::write(play.repository.path.join("ready"), "").unwrap();
    play.repository.git(&["add", "ready"]);
    play.repository.git(&["commit", "--quiet", "--message", "ready"]);
    let retry = Retry { from: Some("implement".to_owned()) };
    house.client.retry_task(&play.id, &retry).await.unwrap();
    play.again();
    play.land().await;
}

pub(crate) async fn a_model_that_is_away_is_asked_again(house: &House) {
    let repository = Repository::make(&house.repositories(), "away");
    let request = "The sum is wrong, says the scene about errors.";
    let busy = testkit::model::Mischief::Error { status: 503, after: None };
    let holds = move |asked: &testkit::model::Asked<'_>| {
        asked.text.contains("# Phase: research") && asked.text.contains(request)
    };
    let script = Script::new().read("sum.py").failing(busy, Some(2)).text("It subtracts.");
    house.model.when(holds, script);
    tell_the_story(house, request);
    let mut play = Play::begin_as(house, repository, &wish("builtin", request)).await;
    play.finish().await;
}
