//! What an image's setup leaves in the checkout is the image's, and never the agent's change.

use wire::task::{
    event::{Leftovers, TaskEvent},
    plan::Conditions,
};

use crate::{
    house::House,
    play::{Play, wish},
    repository::Repository,
};

/// As `pip install -e .` and `npm install` do: a tracked file is written anew, a lock file is left, and a cache beside it.
pub(crate) const SETUP: &str =
    "printf changed > README.rst; echo {} > package-lock.json; mkdir cache; echo x > cache/x";

fn repository(house: &House, name: &str) -> Repository {
    Repository::make_with(&house.repositories(), name, &[("README.rst", "As people wrote it.\n")])
}

/// What was told of the setup, for each sandbox.
fn told(play: &Play<'_>) -> Vec<Leftovers> {
    let mut told = Vec::new();
    for it in &play.events {
        if let TaskEvent::Prepared { left, .. } = &it.event
            && !left.is_empty()
        {
            told.push(left.clone());
        }
    }
    told
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(crate) async fn what_a_setup_leaves_is_not_delivered_nor_taken_for_drift(house: &House) {
    let repository = repository(house, "left");
    // What the agent finds is as in the commit, beside what the setup made.
    let request = "Mend the sum.\n#implement\ngrep -q people README.rst\ntest -f package-lock.json\n\
        sed -i 's/a - b/a + b/' sum.py\ngit add --all\n";
    let mut play = Play::begin_as(house, repository, &wish("installing", request)).await;
    let conditions = Conditions { paths: Some(names(&["sum.py"])), ..Conditions::default() };
    play.approve_on(conditions).await;
    let pull = play.delivered().await;
    let changed = play.repository.git(&["diff", "--name-only", "main", &pull.delivered]);
    assert_eq!(changed, "sum.py", "{play}");
    let restored = names(&["README.rst"]);
    let left = names(&["cache/x", "package-lock.json"]);
    assert_eq!(told(&play), [Leftovers { restored, left, more: 0 }], "once: {play}");
    // The request, which is quoted, names it.
    let (_, told) = pull.body.split_once("## Plan and approval").unwrap();
    assert!(!told.contains("package-lock.json"), "{}", pull.body);
    play.merge(&pull).await;
}

pub(crate) async fn what_the_agent_changes_of_it_is_its_own(house: &House) {
    let repository = repository(house, "changed-left");
    let request = "Mend the sum.\n#implement\nsed -i 's/a - b/a + b/' sum.py\n\
        echo '{\"packages\":{\"node_modules/leftpad\":{\"version\":\"1.3.0\"}}}' > package-lock.json\n";
    let mut play = Play::begin_as(house, repository, &wish("installing", request)).await;
    play.approve().await;
    let pull = play.delivered().await;
    let changed = play.repository.git(&["diff", "--name-only", "main", &pull.delivered]);
    assert_eq!(changed, "package-lock.json\nsum.py", "{play}");
    // And what it brings is there for whoever looks twice.
    assert!(pull.body.contains("leftpad 1.3.0"), "{}", pull.body);
    play.merge(&pull).await;
}

pub(crate) async fn an_agent_that_did_nothing_made_no_progress_whatever_a_setup_left(
    house: &House,
) {
    let repository = repository(house, "idle-left");
    let request = "Mend the sum.\n#implement\ntrue\n";
    let mut play = Play::begin_as(house, repository, &wish("installing", request)).await;
    play.approve().await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "no_progress", "{failure:#?}");
    play.cancel().await;
}
