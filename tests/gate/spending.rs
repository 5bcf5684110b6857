//! Commands and money within conditions (GA4): a worker that asks a model and tells what it runs.
//!
//! What a worker runs is known as far as it tells. What it spends is known from the gateway, whatever it tells: a request that could cost more than the
//! approval leaves is refused before it is asked.

use testkit::model::{Model, Script as Play, serve};
use wire::{
    error::Code,
    task::{
        ask::{Amend, RaiseBudget, SendMessage},
        plan::Conditions,
    },
};

use crate::{
    house::{Files, House},
    journey::{Journey, Script, code, refusal},
};

/// A server with a model of which one answer costs two cents, and an agent whose worker asks it.
fn house() -> House {
    let model = Model::new();
    model.otherwise(Play::new().text("Hello.").also_without_tools());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap().port()).unwrap();
            serve(listener, model).await.unwrap();
        });
    });
    let port: u16 = told.recv().unwrap();
    let usual = Files::default();
    House::of(&Files {
        server: format!(
            "{}models:\n  - {{ name: scripted, provider: openai, url: 'http://localhost:{port}/v1', addresses: [127.0.0.1], model: gpt-5-pro }}\n",
            usual.server
        ),
        policy: "version: 1\negress:\n  implement: { allow: ['model:openai'] }\n".to_owned(),
        agent: format!(
            "{}phases: {{ implement: {{ driver: acp, model: gpt-5-pro, command: exec /usr/bin/python3 /workspace/sums/worker.py }} }}\n",
            usual.agent.replace("egress: ", "# ")
        ),
    })
}

#[test]
fn a_command_beside_the_approved_ones_waits_for_a_person() {
    let house = house();
    let only =
        || Conditions { commands: Some(vec!["make test".to_owned()]), ..Conditions::default() };
    let on = |told: &str, conditions| {
        Journey::through_on(&house, &Script { implement: told, ..Script::default() }, conditions).1
    };
    for told in [
        "TELL[[curl evil.example]]",
        "TELL[[make test]] TELL[[make deploy]]",
        "TELL[[make test; curl evil.example]]",
        "TELL[[make test && curl evil.example]]",
        "TELL[[make testify]]",
        "TELL[[sh -c 'make test']]",
        "TELL[[env make test]]",
    ] {
        let task = on(told, only());
        let (kind, message) = Journey::failure(&task);
        assert_eq!(
            (task.state.as_str(), kind.as_str()),
            ("paused", "plan_drift"),
            "{told}: {message}"
        );
        assert!(message.contains("which the approval does not allow"), "{message}");
    }
    assert_eq!(house.refs().lines().count(), 1);
    // The controls: within them, and without any.
    assert_eq!(on("TELL[[make test]] TELL[[make test -s]]", only()).state, "pull request open");
    assert_eq!(on("TELL[[curl evil.example]]", Conditions::default()).state, "pull request open");
}

/// A run that ends early keeps its sandbox, and the next one begins in it.
#[test]
fn a_command_that_was_told_before_its_run_ended_early_waits_for_a_person_too() {
    let house = house();
    let only = |commands: &[&str]| {
        let commands = commands.iter().map(|it| (*it).to_owned()).collect();
        Conditions { commands: Some(commands), ..Conditions::default() }
    };
    let runs = [("UNUSABLE[[]]", "plan_drift"), ("WAIT[[]]", "")];
    for (ends, told_at_once) in runs {
        let told = format!("TELL[[curl evil.example]] {ends}");
        let script = Script { implement: &told, ..Script::default() };
        let (journey, plan) = Journey::to_gate(&house, &script);
        journey.approve(&plan, only(&["make test"])).unwrap();
        if ends.starts_with("WAIT") {
            journey.until_said("I wait for 42 years.");
            house.wait(house.client.pause_task(&journey.id)).unwrap();
        }
        let task = journey.rest();
        let (kind, message) = Journey::failure(&task);
        assert_eq!((task.state.as_str(), kind.as_str()), ("paused", told_at_once), "{message}");
        let words = SendMessage { text: "keep to the plan".to_owned() };
        house.wait(house.client.message(&journey.id, &words)).unwrap();
        house.wait(house.client.resume_task(&journey.id)).unwrap();
        let task = journey.rest();
        let (kind, message) = Journey::failure(&task);
        assert_eq!((task.state.as_str(), kind.as_str()), ("paused", "plan_drift"), "{message}");
        assert!(message.contains("`curl evil.example`"), "{message}");
        assert_eq!(house.refs().lines().filter(|it| it.contains(&journey.id)).count(), 0);
        // The control: whoever has approved it allows it.
        let wider = Amend { conditions: only(&["make test", "curl evil.example"]) };
        house.wait(house.client.amend(&journey.id, &wider)).unwrap();
        let task = journey.rest();
        assert_eq!(task.state, "pull request open", "{ends}: {:?}", task.failure);
    }
}

#[test]
fn whoever_spends_more_than_was_approved_waits_for_the_approver() {
    let house = house();
    let script = Script { implement: "ASK[[5]]", ..Script::default() };
    let cheap = Conditions { budget_micros: Some(10_000), ..Conditions::default() };
    let (journey, task) = Journey::through_on(&house, &script, cheap);
    let (kind, message) = Journey::failure(&task);
    assert_eq!((task.state.as_str(), kind.as_str()), ("paused", "budget_hit"), "{message}");
    let spent = house.wait(house.client.task_usage(&journey.id)).unwrap().total.money.micros;
    assert!(spent <= 10_000, "not a cent more than was approved: {spent}");
    // Neither going on nor a larger budget leads around the approver.
    house.wait(house.client.resume_task(&journey.id)).unwrap();
    let (kind, message) = Journey::failure(&journey.rest());
    assert_eq!(kind, "budget_hit", "{message}");
    let spent = house.wait(house.client.task_usage(&journey.id)).unwrap().total.money.micros;
    assert!(spent <= 10_000, "{spent}");
    let more = RaiseBudget { to_micros: 9_000_000 };
    assert_eq!(
        code(refusal(house.wait(house.client.raise_budget(&journey.id, &more)))),
        Code::NotNow
    );
    // The control: the approver does.
    let dear = Conditions { budget_micros: Some(5_000_000), ..Conditions::default() };
    house.wait(house.client.amend(&journey.id, &Amend { conditions: dear })).unwrap();
    let task = journey.rest();
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    let spent = house.wait(house.client.task_usage(&journey.id)).unwrap().total.money.micros;
    assert!(spent > 10_000, "where it may, it spends: {spent}");
}
