//! From a sentence to a merged pull request, without anything going wrong.

use testkit::model::stories::{Bug, Phase};
use wire::task::event::TaskEvent;

use crate::{
    house::House,
    play::{Play, wish},
    proof,
    repository::Repository,
};

/// A request that nobody has to ask back about.
const REQUEST: &str = "The sum is wrong: 2 and 3 should be 5.";

pub(crate) async fn a_program_without_a_model_is_asked_and_its_change_is_merged(house: &House) {
    let repository = Repository::make(&house.repositories(), "straight");
    let mut play = Play::begin(house, repository, REQUEST).await;
    let approved = play.approve().await;
    assert_eq!(approved.summary, "Add instead of subtracting");
    ends_well(&mut play, REQUEST).await;
}

pub(crate) async fn the_built_in_agent_mends_a_bug_and_its_change_is_merged(house: &House) {
    let repository = Repository::make(&house.repositories(), "builtin");
    let request = "The sum is wrong, says the built-in agent's scene.";
    tell_the_story(house, request);
    let mut play = Play::begin_as(house, repository, &wish("builtin", request)).await;
    play.approve().await;
    ends_well(&mut play, request).await;
    let usage = house.client.task_usage(&play.id).await.unwrap();
    assert!(usage.total.input_tokens > 0, "the gateway has counted: {usage:#?}");
}

/// What a model says that mends the sum, for whoever asks with this request.
pub(crate) fn tell_the_story(house: &House, request: &str) {
    let plan = r#"```lamp-answer
{"plan": {"summary": "Add instead of subtracting", "files": [{"path": "sum.py", "why": "it subtracts"}], "tests": [], "expected_behaviour": "add(2, 3) is 5", "commands": ["make test"], "hosts": [], "risks": []}}
```"#;
    let review = "Nothing is wrong.\n\n```lamp-answer\n{\"review\": {\"findings\": []}}\n```";
    let bug = Bug {
        file: "sum.py".to_owned(),
        test: "make test".to_owned(),
        ..Bug::in_a_sum().answering(Phase::Plan, plan).answering(Phase::Review, review)
    };
    let phases = [
        (Phase::Research, "# Phase: research"),
        (Phase::Plan, "# Phase: plan"),
        (Phase::Implement, "# Phase: implement"),
        (Phase::Review, "# Phase: review"),
    ];
    for (phase, marker) in phases {
        let request = request.to_owned();
        let holds = move |asked: &testkit::model::Asked<'_>| {
            asked.text.contains(marker) && asked.text.contains(&request)
        };
        house.model.when(holds, bug.script(phase));
    }
}

/// From an approved plan on: one pull request with a receipt that holds, merged, and everybody told.
async fn ends_well(play: &mut Play<'_>, request: &str) {
    let pull = play.delivered().await;
    proof::receipt_holds(play, &pull, request).await;
    assert!(pull.body.contains("**fixed**"), "{}", pull.body);
    assert_eq!(play.repository.branches(), std::slice::from_ref(&pull.branch));
    assert!(!play.repository.is_mended(), "nothing is merged before a person says so");
    play.merge(&pull).await;
    assert!(play.repository.is_mended());
    let client = &play.house.client;
    assert_eq!(client.pulls(&play.repository.name).await.unwrap().len(), 1);
    let task = play.task().await;
    assert_eq!((task.state.as_str(), task.done_because.as_deref()), ("done", Some("merged")));
    while play.next().await.is_some() {}
    assert_eq!(play.count(|event| matches!(event, TaskEvent::PullRequestOpened { .. })), 1);
    play.house.told_last(&play.id, "Merged. The task is done.").await;
}
