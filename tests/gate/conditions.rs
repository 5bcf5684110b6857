//! Behind the gate, within conditions (GA4): what leaves them does not happen, and stops the task until a person amends the approval.

use wire::{
    error::Code,
    task::{
        ask::{Amend, SendMessage},
        plan::Conditions,
    },
};

use crate::{
    house::House,
    journey::{Journey, Script, code, refusal},
};

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn a_change_beside_the_approved_paths_waits_for_a_person() {
    let house = House::start();
    let work = "mend()\nwrite(f'{repo}/calc.py.orig')\n";
    let script = Script { implement: work, ..Script::default() };
    let narrow = Conditions { paths: Some(list(&["calc.py", "docs"])), ..Conditions::default() };
    let (journey, task) = Journey::through_on(&house, &script, narrow);
    let (kind, message) = Journey::failure(&task);
    assert_eq!((task.state.as_str(), kind.as_str()), ("paused", "plan_drift"), "{message}");
    assert!(
        message.contains("`calc.py.orig`"),
        "the beginning of a name is not the name: {message}"
    );
    assert_eq!(house.refs().lines().count(), 1, "nothing left the sandbox");
    // To go on as before is no way around it.
    house.wait(house.client.resume_task(&journey.id)).unwrap();
    let (kind, _) = Journey::failure(&journey.rest());
    assert_eq!(kind, "plan_drift");
    let odd =
        Amend { conditions: Conditions { paths: Some(list(&["../"])), ..Conditions::default() } };
    assert_eq!(code(refusal(house.wait(house.client.amend(&journey.id, &odd)))), Code::BadRequest);
    // The control: amended, it goes on; and the receipt says so.
    let wider =
        Conditions { paths: Some(list(&["calc.py", "calc.py.orig"])), ..Conditions::default() };
    house.wait(house.client.amend(&journey.id, &Amend { conditions: wider })).unwrap();
    let task = journey.rest();
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    assert_eq!(house.audited("amended").len(), 1);
}

#[test]
fn an_approvals_conditions_hold_for_what_is_said_on_the_pull_request_too() {
    let house = House::start();
    let work = "mend()\nif task['guidance']:\n    write(f'{repo}/README.md', 'More.')\n";
    let script = Script { implement: work, ..Script::default() };
    let narrow = Conditions { paths: Some(list(&["calc.py"])), ..Conditions::default() };
    let (journey, task) = Journey::through_on(&house, &script, narrow);
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    let head = task.commit;
    let words = SendMessage { text: "Write a README as well.".to_owned() };
    house.wait(house.client.message(&journey.id, &words)).unwrap();
    let task = journey.rest();
    let (kind, message) = Journey::failure(&task);
    assert_eq!((task.state.as_str(), kind.as_str()), ("paused", "plan_drift"), "{message}");
    assert_eq!(task.commit, head, "the pull request is as it was");
    // The control.
    let wider =
        Conditions { paths: Some(list(&["calc.py", "README.md"])), ..Conditions::default() };
    house.wait(house.client.amend(&journey.id, &Amend { conditions: wider })).unwrap();
    let task = journey.rest();
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    assert_ne!(task.commit, head);
}

/// Asks for hosts through the gateway, and tells whether it let the request through. Nobody answers at any of them.
const ASK: &str = r"
for name in HOSTS:
    told = subprocess.run(['curl', '--silent', '--max-time', '50', '--write-out', '%{http_connect} %{http_code}', '--output', '/dev/null', f'https://{name}/'], capture_output=True, text=True).stdout
    report(name, told == '200 502', told)
mend()
";

#[test]
fn a_host_beside_the_approved_ones_is_not_reached_and_stops_the_task() {
    let house = House::start();
    let asking = |hosts: &str| ASK.replace("HOSTS", hosts);
    let both = asking("['allowed.example', 'other.example']");
    let script = Script { implement: &both, ..Script::default() };
    let narrow = Conditions { hosts: Some(list(&["allowed.example"])), ..Conditions::default() };
    let (journey, task) = Journey::through_on(&house, &script, narrow);
    let (kind, message) = Journey::failure(&task);
    assert_eq!((task.state.as_str(), kind.as_str()), ("paused", "plan_drift"), "{message}");
    assert!(message.contains("`other.example`"), "{message}");
    let reached: Vec<(String, bool)> =
        journey.tried().into_iter().map(|it| (it.name, it.worked)).collect();
    let expected = [("allowed.example".to_owned(), true), ("other.example".to_owned(), false)];
    assert_eq!(
        reached, expected,
        "the gateway lets the approved one through, whoever answers there"
    );
    let sandbox = journey.sandboxes().remove(1);
    let is_ours = |row: &&serde_json::Value| {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        word("actor").contains(&sandbox) && word("subject").contains("other.example")
    };
    assert_eq!(house.audited("egress.refused").iter().filter(is_ours).count(), 1);

    // The controls: with both allowed, and when it stays within.
    let wide = Conditions {
        hosts: Some(list(&["allowed.example", "other.example"])),
        ..Conditions::default()
    };
    let (_, task) = Journey::through_on(&house, &script, wide);
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    let one = asking("['allowed.example']");
    let narrow = Conditions { hosts: Some(list(&["allowed.example"])), ..Conditions::default() };
    let (_, task) =
        Journey::through_on(&house, &Script { implement: &one, ..Script::default() }, narrow);
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
}

#[test]
fn an_approver_cannot_allow_more_than_the_policy_does() {
    let house = House::start();
    let asks = ASK.replace("HOSTS", "['forbidden.example']");
    let script = Script { implement: &asks, ..Script::default() };
    let wide = Conditions { hosts: Some(list(&["forbidden.example"])), ..Conditions::default() };
    let (journey, task) = Journey::through_on(&house, &script, wide);
    let (kind, message) = Journey::failure(&task);
    assert_eq!((task.state.as_str(), kind.as_str()), ("paused", "egress_blocked"), "{message}");
    assert!(message.contains("`forbidden.example`"), "{message}");
    assert_eq!(house.refs().lines().count(), 1, "nothing left the sandbox");
    assert!(journey.tried().iter().all(|it| !it.worked), "{:?}", journey.tried());
}

#[test]
fn work_that_takes_longer_than_was_approved_is_ended() {
    let house = House::start();
    let script =
        Script { implement: "import time\nmend()\ntime.sleep(100)\n", ..Script::default() };
    let short = Conditions { time_seconds: Some(1), ..Conditions::default() };
    let (_, task) = Journey::through_on(&house, &script, short);
    let (kind, message) = Journey::failure(&task);
    assert_eq!((task.state.as_str(), kind.as_str()), ("paused", "time_limit"), "{message}");
    assert_eq!(house.refs().lines().count(), 1);
    // The control.
    let long = Conditions { time_seconds: Some(600), ..Conditions::default() };
    let (_, task) = Journey::through_on(&house, &Script::default(), long);
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
}
