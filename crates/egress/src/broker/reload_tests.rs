//! What organisation and platform say anew holds at once, and for those who come later.

use domain::policy::{Layer, effective};

use super::{super::standing::Above, *};

fn rules(layer: LayerKind, allow: &[&str]) -> BTreeMap<EgressPhase, Rules> {
    let rule = |text: &&str| match text.parse() {
        Ok(bundle) => Rule::Bundle(bundle),
        Err(_) => host_rule(text, &[Method::Get], true),
    };
    let allow = allow.iter().map(rule).collect();
    BTreeMap::from([(EgressPhase::Implement, Rules { layer, allow, deny: BTreeSet::new() })])
}

fn layer(kind: LayerKind, allow: &[&str]) -> Layer {
    Layer { egress: rules(kind, allow), ..Layer::silent(kind) }
}

/// A network as it is given to somebody who asks for something.
fn asked(organisation: &[&str], asked: &[&str]) -> Network {
    let below = [Layer::silent(LayerKind::Platform), layer(LayerKind::Repository, asked)];
    let policy = effective(&layer(LayerKind::Organisation, organisation), &below).policy;
    Network { egress: policy.egress, ..Network::closed(Owner::Person("ada".to_owned())) }
}

fn saying(world: &World, organisation: &[&str]) -> Standing {
    let organisation = layer(LayerKind::Organisation, organisation);
    let egress = effective(&organisation, &[]).policy.egress;
    let above = Some(Above { egress, internal: BTreeMap::new() });
    Standing { above, ..world.broker.standing().as_ref().clone() }
}

async fn reaches(world: &World, host: &str) -> bool {
    !matches!(world.connect(host, 443).await, Answer::Refused(_))
}

#[tokio::test]
async fn what_the_organisation_takes_back_is_gone_at_once_and_what_it_gives_back_is_there_again() {
    let world = World::new().await;
    let both = ["one.example.com", "two.example.com"];
    world.broker.change(SANDBOX, asked(&both, &both)).await.unwrap();
    assert!(reaches(&world, "one.example.com").await && reaches(&world, "two.example.com").await);
    let before = world.broker.member(SANDBOX).unwrap().ruling().generation;
    let concerned = world.broker.reload(saying(&world, &["two.example.com"])).await;
    assert_eq!(concerned, 1);
    assert!(!reaches(&world, "one.example.com").await && reaches(&world, "two.example.com").await);
    assert_eq!(world.broker.member(SANDBOX).unwrap().ruling().generation, before + 1);
    world.broker.reload(saying(&world, &[])).await;
    assert!(!reaches(&world, "two.example.com").await);
    let more = ["one.example.com", "two.example.com", "three.example.com"];
    world.broker.reload(saying(&world, &more)).await;
    assert!(reaches(&world, "one.example.com").await && reaches(&world, "two.example.com").await);
    assert!(!reaches(&world, "three.example.com").await, "nobody asked for it");
}

#[tokio::test]
async fn who_rested_meanwhile_wakes_under_what_holds_now_and_so_does_everybody_after_a_restart() {
    let world = World::new().await;
    let host = ["one.example.com"];
    world.broker.change(SANDBOX, asked(&host, &host)).await.unwrap();
    world.broker.leave(SANDBOX).await.unwrap();
    assert_eq!(world.broker.reload(saying(&world, &[])).await, 0, "none is awake");
    let before = world.broker.member(SANDBOX).unwrap().ruling().generation;
    world.broker.join(SANDBOX, None, Vec::new()).await.unwrap();
    assert!(!reaches(&world, "one.example.com").await);
    assert!(world.broker.member(SANDBOX).unwrap().ruling().generation > before);

    let kept = world.broker.kept.read(SANDBOX, world.broker.settings.seal.as_ref()).unwrap();
    let later = saying(&world, &host).ruling(&kept.unwrap().network, 1);
    assert!(later.name("one.example.com").is_ok(), "what was given is what is remembered");
}

#[tokio::test]
async fn a_phase_that_was_closed_when_a_network_was_given_stays_closed() {
    let world = World::new().await;
    world.broker.change(SANDBOX, asked(&[], &[])).await.unwrap();
    let closed = Network::closed(Owner::Person("ada".to_owned()));
    world.broker.change(SANDBOX, closed).await.unwrap();
    world.broker.reload(saying(&world, &["one.example.com"])).await;
    assert!(!reaches(&world, "one.example.com").await);
}

#[tokio::test]
async fn budgets_of_agents_and_people_hold_beside_the_tasks_and_a_raised_one_holds_at_once() {
    use domain::policy::{BudgetPeriod, BudgetScope};
    let world = World::new().await;
    let fixer = Network { agent: Some("fixer".parse().unwrap()), ..network() };
    world.broker.change(SANDBOX, fixer).await.unwrap();
    let dollars = Money::from_dollars;
    let limits = |person: u32| {
        let periods = [
            (BudgetScope::Person, BudgetPeriod::Day, dollars(person)),
            (BudgetScope::Agent, BudgetPeriod::Month, dollars(50)),
            (BudgetScope::Organisation, BudgetPeriod::Month, dollars(500)),
            (BudgetScope::Repository, BudgetPeriod::Day, dollars(1)),
        ];
        let money = SpendingLimits {
            task: Some(dollars(10)),
            ceiling: Some(dollars(20)),
            periods: periods.into_iter().collect(),
        };
        Standing { money, ..world.broker.standing().as_ref().clone() }
    };
    world.broker.reload(limits(2)).await;
    let member = world.broker.member(SANDBOX).unwrap();
    let accounts: Vec<String> = world
        .broker
        .accounts(&member)
        .iter()
        .map(|it| format!("{} {} {}", it.scope.as_str(), it.whose, it.limit))
        .collect();
    assert_eq!(
        accounts,
        [
            "task s_00000000000000000000000007 $10.00",
            "agent fixer $50.00",
            "person ada $2.00",
            "organisation all $500.00"
        ]
    );
    let line = "POST https://api.anthropic.com/v1/messages";
    granted(world.request(1, line, Some(MESSAGE)).await);
    let usage =
        Usage { input_tokens: 600_000, output_tokens: 20_000, complete: true, ..Usage::default() };
    let done = Outcome::Done { status: Some(200) };
    world.broker.ended(WHOSE, Exchange(1), &report(done, Some(usage)));
    let over = refused(&world.request(2, line, Some(MESSAGE)).await);
    assert!(
        over.contains("the budget of the person `ada` is $2.00 per day; $2.10 is spent"),
        "{over}"
    );
    world.broker.reload(limits(3)).await;
    granted(world.request(3, line, Some(MESSAGE)).await);
}

#[tokio::test]
async fn a_task_is_paid_by_its_person_and_repository_and_may_spend_more_at_once_within_the_ceiling()
{
    use domain::policy::{BudgetPeriod, BudgetScope};
    let (world, task) = (World::new().await, TaskId::from_u128(5));
    let dollars = Money::from_dollars;
    let periods = [
        (BudgetScope::Person, BudgetPeriod::Day, dollars(30)),
        (BudgetScope::Repository, BudgetPeriod::Week, dollars(40)),
        (BudgetScope::Team, BudgetPeriod::Week, dollars(1)),
    ];
    let money = SpendingLimits {
        task: Some(dollars(10)),
        ceiling: Some(dollars(20)),
        periods: periods.into_iter().collect(),
    };
    let standing = Standing { money, ..Standing::clone(&world.broker.standing()) };
    world.broker.reload(standing).await;
    let spending = Spending {
        person: Some("ada".to_owned()),
        repository: Some("acme/web".parse().unwrap()),
        limit: Some(dollars(2)),
    };
    let network = Network { spending, ..Network::closed(Owner::Task(task)) };
    let of_a_task = SandboxId::from_u128(8);
    world.broker.join(of_a_task, Some(&network), Vec::new()).await.unwrap();
    let accounts = |broker: &Broker| -> Vec<String> {
        let member = broker.member(of_a_task).unwrap();
        let accounts = broker.accounts(&member).into_iter();
        accounts.map(|it| format!("{} {} {}", it.scope.as_str(), it.whose, it.limit)).collect()
    };
    let with = |limit: &str| {
        vec![
            format!("task {task} {limit}"),
            "person ada $30.00".to_owned(),
            "repository acme/web $40.00".to_owned(),
        ]
    };
    assert_eq!(accounts(&world.broker), with("$2.00"), "less than a task usually may");
    world.broker.allow(task, dollars(15)).unwrap();
    assert_eq!(accounts(&world.broker), with("$15.00"), "more than a task usually may");
    world.broker.allow(task, dollars(90)).unwrap();
    assert_eq!(accounts(&world.broker), with("$20.00"), "never more than the ceiling");
    world.broker.allow(TaskId::from_u128(6), dollars(1)).unwrap();
    assert_eq!(accounts(&world.broker), with("$20.00"), "another task's");

    world.broker.leave(of_a_task).await.unwrap();
    world.broker.join(of_a_task, None, Vec::new()).await.unwrap();
    assert_eq!(accounts(&world.broker), with("$20.00"), "what was said last is kept");
}
