//! At the API: who comes with a wrong token, an old plan, too late, twice or twenty times, and conditions that mean nothing (GA1, GA4, GA5).

use wire::{
    client::{Client, Endpoint},
    error::Code,
    task::{
        ask::{Amend, Approve, RaiseBudget, Reject, Retry},
        plan::Conditions,
    },
};

use crate::{
    house::House,
    journey::{Journey, Script, code, refusal},
};

#[test]
fn without_the_token_nobody_approves_or_even_looks() {
    let house = House::start();
    let (journey, plan) = Journey::to_gate(&house, &Script::default());
    let at = |token: Option<String>| {
        Client::new(Endpoint::Http { authority: house.address.clone(), token })
    };
    let right = house.token();
    let wish = Approve { plan, ..Approve::default() };
    let wrong = [
        None,
        Some(String::new()),
        Some("0".repeat(64)),
        Some(right.to_uppercase()).filter(|it| *it != right),
        Some(right[..63].to_owned()),
        Some(format!("{right}0")),
        Some(format!("{right} {right}")),
    ];
    for token in wrong {
        let stranger = at(token.clone());
        let approved = refusal(house.wait(stranger.approve(&journey.id, &wish)));
        assert_eq!(code(approved), Code::Unauthorized, "{token:?}");
        let looked = refusal(house.wait(stranger.task(&journey.id)));
        assert_eq!(code(looked), Code::Unauthorized, "{token:?}");
    }
    assert_eq!((journey.approvals(), house.audited("approved").len()), (0, 0));
    // The control.
    house.wait(at(Some(right)).approve(&journey.id, &wish)).unwrap();
    assert_eq!(journey.approvals(), 1);
}

#[test]
fn of_twenty_approvals_at_once_exactly_one_is_taken() {
    let house = House::start();
    let (journey, plan) = Journey::to_gate(&house, &Script::default());
    let answers = house.wait(async {
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..20_u64 {
            let (client, id) = (house.client.clone(), journey.id.clone());
            // Each with other conditions, so that it is seen whose were taken.
            let conditions =
                Conditions { time_seconds: Some(600 + number), ..Conditions::default() };
            let wish = Approve { plan: plan.clone(), conditions };
            calls.spawn(async move { refusal(client.approve(&id, &wish).await) });
        }
        calls.join_all().await
    });
    let taken = answers.iter().filter(|it| it.is_ok()).count();
    assert_eq!(taken, 1, "{answers:?}");
    let refused = answers.into_iter().filter_map(Result::err).map(|problem| problem.code);
    assert!(refused.into_iter().all(|code| code == Code::NotNow));
    assert_eq!((journey.approvals(), house.audited("approved").len()), (1, 1));
    assert_eq!(house.audited("refused").len(), 19);
    assert_eq!(journey.rest().state, "pull request open");
    assert_eq!(house.wait(house.client.pulls("sums")).unwrap().len(), 1);
}

#[test]
fn of_a_yes_a_no_and_a_cancellation_at_once_one_decision_counts_and_nothing_follows_the_end() {
    let house = House::start();
    for _round in 0..5 {
        let (journey, plan) = Journey::to_gate(&house, &Script::default());
        let (client, id) = (&house.client, journey.id.as_str());
        let yes = Approve { plan: plan.clone(), ..Approve::default() };
        let no = Reject { plan, comment: "No.".to_owned() };
        let (yes, no, end) = house.wait(async {
            tokio::join!(client.approve(id, &yes), client.reject(id, &no), client.cancel_task(id))
        });
        assert!(end.is_ok(), "it can be cancelled wherever it is: {end:?}");
        assert!(yes.is_err() || no.is_err(), "both were taken");
        assert_eq!(journey.rest().state, "cancelled");
        let told = ["approved", "rejected", "cancelled", "pull_request_opened"];
        let mut decided = journey.kinds();
        decided.retain(|kind| told.contains(&kind.as_str()));
        assert_eq!(decided.last().unwrap(), "cancelled", "{decided:?}");
        assert!(decided.len() <= 2, "{decided:?}");
    }
    assert_eq!(house.refs().lines().count(), 1);
}

#[test]
fn what_was_decided_or_is_over_is_not_approved() {
    let house = House::start();
    let (journey, plan) = Journey::to_gate(&house, &Script::default());
    let yes = || journey.approve(&plan, Conditions::default());
    yes().unwrap();
    assert_eq!(code(yes()), Code::NotNow, "a second time");
    assert_eq!(journey.rest().state, "pull request open");
    assert_eq!(code(yes()), Code::NotNow, "when it was delivered");
    let no = Reject { plan: plan.clone(), comment: "No.".to_owned() };
    assert_eq!(code(refusal(house.wait(house.client.reject(&journey.id, &no)))), Code::NotNow);
    let wider = Amend { conditions: Conditions::default() };
    assert_eq!(code(refusal(house.wait(house.client.amend(&journey.id, &wider)))), Code::NotNow);
    let pull = journey.look().pull_request.unwrap();
    house.wait(house.client.cancel_task(&journey.id)).unwrap();
    assert_eq!(code(yes()), Code::NotNow, "when it was cancelled");
    assert_eq!(journey.approvals(), 1);

    let (cancelled, plan) = Journey::to_gate(&house, &Script::default());
    house.wait(house.client.cancel_task(&cancelled.id)).unwrap();
    assert_eq!(code(cancelled.approve(&plan, Conditions::default())), Code::NotNow);
    let retry = |from: &str| {
        let wish = Retry { from: Some(from.to_owned()) };
        refusal(house.wait(house.client.retry_task(&cancelled.id, &wish)))
    };
    for phase in ["implement", "verify", "review", "deliver"] {
        assert_eq!(code(retry(phase)), Code::NotNow, "{phase}");
    }
    assert_eq!(cancelled.look().state, "cancelled");
    assert_eq!(house.wait(house.client.pulls("sums")).unwrap().len(), 1, "only number {pull}");
    // The same plan of one task is no approval for another.
    let (one, hash) = Journey::to_gate(&house, &Script::default());
    let (two, same) = Journey::to_gate(&house, &Script::default());
    assert_eq!(hash, same, "the control: it is the same plan");
    one.approve(&hash, Conditions::default()).unwrap();
    assert_eq!((one.approvals(), two.approvals()), (1, 0));
    assert_eq!(two.look().state, "awaiting approval");
}

#[test]
fn a_task_that_stopped_before_the_gate_cannot_be_retried_behind_it() {
    let house = House::start();
    let script = Script { plan: "sys.exit(3)", ..Script::default() };
    let (journey, task) = Journey::to_rest(&house, &script);
    assert!(["failed", "paused"].contains(&task.state.as_str()), "{}", task.state);
    for phase in ["implement", "verify", "review", "deliver"] {
        let wish = Retry { from: Some(phase.to_owned()) };
        let retried = refusal(house.wait(house.client.retry_task(&journey.id, &wish)));
        assert!([Code::NotNow, Code::BadRequest].contains(&code(retried)), "{phase}");
    }
    // The control: from where it was.
    let wish = Retry { from: Some("plan".to_owned()) };
    house.wait(house.client.retry_task(&journey.id, &wish)).unwrap();
    assert_eq!(journey.rest().plan_approved, None);
    assert_eq!(journey.approvals(), 0);
}

#[test]
fn four_eyes_and_lists_keep_the_requester_from_their_own_plan() {
    for (gate, word) in [
        ("plan: { required: true, four_eyes: true }\n", "four eyes"),
        ("plan: { required: true, approvers: [team:security] }\n", "listed"),
    ] {
        let house = House::with(gate);
        let (journey, plan) = Journey::to_gate(&house, &Script::default());
        let refused = journey.approve(&plan, Conditions::default()).unwrap_err();
        assert_eq!(refused.code, Code::Forbidden, "{gate}: {refused}");
        assert!(refused.message.contains(word), "{refused}");
        assert_eq!(journey.look().state, "awaiting approval");
        assert_eq!(journey.approvals(), 0);
        let audited = house.audited("refused");
        assert_eq!(audited.len(), 1, "{audited:?}");
        assert!(audited[0]["detail"].as_str().unwrap().contains(word), "{audited:?}");
    }
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|it| (*it).to_owned()).collect()
}

fn paths(words: &[&str]) -> Conditions {
    Conditions { paths: Some(list(words)), ..Conditions::default() }
}

fn hosts(words: &[&str]) -> Conditions {
    Conditions { hosts: Some(list(words)), ..Conditions::default() }
}

fn commands(words: &[&str]) -> Conditions {
    Conditions { commands: Some(list(words)), ..Conditions::default() }
}

#[test]
fn conditions_that_mean_nothing_or_cannot_be_attested_are_refused_at_the_gate() {
    let house = House::start();
    let (journey, plan) = Journey::to_gate(&house, &Script::default());
    let long = "x".repeat(2001);
    let long_host = format!("{}.example", "x".repeat(2001));
    let many: Vec<String> = (0..257).map(|number| format!("f{number}")).collect();
    let odd = [
        paths(&["../x"]),
        paths(&["src/../../x"]),
        paths(&["/etc"]),
        paths(&["src/"]),
        paths(&["./src"]),
        paths(&["src//x"]),
        paths(&["src/*"]),
        paths(&["*"]),
        paths(&["src/?"]),
        paths(&[".git/hooks"]),
        paths(&[".GIT"]),
        paths(&["src\\x"]),
        paths(&["src\0"]),
        paths(&[""]),
        paths(&[" "]),
        paths(&["src\u{200b}"]),
        paths(&["\u{202e}crs"]),
        paths(&["src\nother"]),
        paths(&["src\u{1b}[2K"]),
        paths(&["calc.py", &long]),
        Conditions { paths: Some(many), ..Conditions::default() },
        hosts(&["allowed.example\u{200b}"]),
        hosts(&[&long_host]),
        hosts(&["https://allowed.example/"]),
        hosts(&["allowed.example/path"]),
        hosts(&["allowed example"]),
        hosts(&["allowed.example\n"]),
        hosts(&[""]),
        commands(&["make test\u{202e}"]),
        commands(&[&long]),
        commands(&["make\u{1b}[8m test"]),
        commands(&[""]),
        Conditions { budget_micros: Some(u64::MAX), ..Conditions::default() },
        Conditions { time_seconds: Some(u64::MAX), ..Conditions::default() },
    ];
    let mut taken = Vec::new();
    for conditions in odd {
        match journey.approve(&plan, conditions.clone()) {
            Ok(_) => {
                taken.push(format!("{conditions:?}").chars().take(200).collect::<String>());
                break;
            }
            Err(problem) => {
                assert!([Code::BadRequest, Code::Limit].contains(&problem.code), "{problem:?}");
                assert!(problem.message.len() < 3000, "{problem:?}");
                let hides = |it: char| {
                    (it.is_control() && it != '\n') || it == '\u{200b}' || it == '\u{202e}'
                };
                assert!(!problem.message.contains(hides), "{problem:?}");
            }
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
    assert_eq!((journey.approvals(), journey.look().state.as_str()), (0, "awaiting approval"));
    // The control: good ones, up to the limit, and a receipt that holds them.
    let long = "y".repeat(1900);
    let good = Conditions {
        paths: Some(list(&["calc.py", "src/a b", &long])),
        hosts: Some(list(&["allowed.example"])),
        commands: Some(list(&["make test", "python3 -m unittest"])),
        budget_micros: Some(5_000_000),
        time_seconds: Some(900),
    };
    journey.approve(&plan, good.clone()).unwrap();
    let task = journey.rest();
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    let more = RaiseBudget { to_micros: 9_000_000 };
    let raised = refusal(house.wait(house.client.raise_budget(&journey.id, &more)));
    assert!(raised.is_err(), "what an approver limited is not raised past them");
}
