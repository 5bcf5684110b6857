//! What models were asked is added up, by sandbox and by owner.

use contracts::agent::{Exchanges, ModelMeter as _};

use super::*;

#[tokio::test]
async fn what_models_were_asked_is_added_up_and_kept() {
    let world = World::new().await;
    let line = "POST https://api.anthropic.com/v1/messages";
    let owner = world.broker.member(SANDBOX).unwrap().owner.clone();
    assert_eq!(world.broker.exchanges(SANDBOX), Exchanges::default());
    granted(world.request(1, line, Some(MESSAGE)).await);
    assert_eq!(world.broker.exchanges(SANDBOX).under_way, 1);
    let usage = Usage {
        input_tokens: 1_000,
        cache_read_tokens: 20,
        output_tokens: 300,
        complete: true,
        ..Usage::default()
    };
    let done = report(Outcome::Done { status: Some(200) }, Some(usage));
    world.broker.ended(WHOSE, Exchange(1), &done);
    let first = world.broker.exchanges(SANDBOX);
    assert_eq!((first.under_way, first.answered, first.failed), (0, 1, 0));
    assert_eq!((first.used.input_tokens, first.used.output_tokens), (1_020, 300));
    assert_eq!(world.broker.used_by(&owner), first.used);
    granted(world.request(2, line, Some(MESSAGE)).await);
    world.broker.ended(WHOSE, Exchange(2), &report(Outcome::Done { status: Some(529) }, None));
    let second = world.broker.exchanges(SANDBOX);
    let told = (Some(529), "the model answered 529".to_owned());
    assert_eq!((second.answered, second.failed, second.last_failure), (1, 1, Some(told)));
    let again =
        Broker::open(settings(world.directory.path().join("egress"), Arc::default())).unwrap();
    assert_eq!(again.used_by(&owner), second.used, "kept over a restart");
}

#[tokio::test]
async fn a_program_that_does_not_wait_pays_for_what_its_model_may_have_thought() {
    let world = World::new().await;
    let member = world.broker.member(SANDBOX).unwrap();
    let account = world.broker.accounts(&member)[0].clone();
    let mut spent = Vec::new();
    for (number, millis) in [(1, 0), (2, 2_000), (3, u64::MAX)] {
        let before = world.broker.spent(&account);
        let line = "POST https://api.anthropic.com/v1/messages";
        granted(world.request(number, line, Some(MESSAGE)).await);
        let left = Outcome::Broken { reason: "the program did not wait for the answer".to_owned() };
        let report = Report { millis, bytes_down: 0, ..report(left, None) };
        world.broker.ended(WHOSE, Exchange(number), &report);
        spent.push(world.broker.spent(&account).minus(before).to_string());
    }
    assert_eq!(spent, ["$0.0000", "$0.0060", "$0.0150"], "never more than was set aside");
}

#[tokio::test]
async fn what_was_under_way_when_the_server_was_killed_is_paid_for_by_the_next_and_once() {
    let world = World::new().await;
    let member = world.broker.member(SANDBOX).unwrap();
    let (owner, account) = (member.owner.clone(), world.broker.accounts(&member)[0].clone());
    let line = "POST https://api.anthropic.com/v1/messages";
    // One was answered before, one never left, and one has no end that anybody could tell.
    granted(world.request(1, line, Some(MESSAGE)).await);
    let usage = Usage { output_tokens: 300, complete: true, ..Usage::default() };
    world.broker.ended(
        WHOSE,
        Exchange(1),
        &report(Outcome::Done { status: Some(200) }, Some(usage)),
    );
    granted(world.request(2, line, Some(MESSAGE)).await);
    world.broker.take_back(&member, Exchange(2));
    let before = world.broker.used_by(&owner).money;
    granted(world.request(3, line, Some(MESSAGE)).await);
    let place = || settings(world.directory.path().join("egress"), Arc::default());

    let later = Broker::open(Settings {
        now: Arc::new(|| Timestamp::from_millis(1_794_830_402_000)),
        ..place()
    })
    .unwrap();
    let paid = later.used_by(&owner).money.minus(before);
    assert_eq!(paid.to_string(), "$0.0060", "two seconds of thinking");
    assert_eq!(later.spent(&account), later.used_by(&owner).money, "also by the budget");
    let again = Broker::open(place()).unwrap();
    assert_eq!(again.used_by(&owner), later.used_by(&owner), "nothing is paid twice");
}

#[tokio::test]
async fn what_was_under_way_when_the_gateway_died_is_paid_for() {
    let world = World::new().await;
    let member = world.broker.member(SANDBOX).unwrap();
    let account = world.broker.accounts(&member)[0].clone();
    let body = [MESSAGE, &" ".repeat(10_000)].concat();
    granted(world.request(1, "POST https://api.anthropic.com/v1/messages", Some(&body)).await);
    world.broker.abandon(&member);
    let paid = world.broker.used_by(&member.owner).money;
    assert!(paid > Money::ZERO && paid == world.broker.spent(&account), "{paid}");
    assert_eq!(world.broker.exchanges(SANDBOX).under_way, 0);
    let again = Broker::open(settings(world.directory.path().join("egress"), Arc::default()));
    assert_eq!(again.unwrap().used_by(&member.owner).money, paid, "nothing is paid twice");
}
