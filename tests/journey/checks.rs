//! The platform runs the checks itself; what they find goes back to the agent, and not for ever.

use wire::task::{checks::Conclusion, event::TaskEvent, new::NewTask};

use crate::{
    house::House,
    play::{Play, wish},
    repository::Repository,
};

fn has_failed(event: &TaskEvent) -> bool {
    matches!(event, TaskEvent::ChecksFailed { .. })
}

pub(crate) async fn findings_of_failing_tests_reach_the_agent_which_mends_them(house: &House) {
    let repository = Repository::make(&house.repositories(), "mended");
    // The first try breaks a test that held.
    let request = "Mend the sum.\n#implement\nif grep -q test_nothing \"$HEARD\"; then sed -i 's/return .*/return a + b/' sum.py; \
        else sed -i 's/return .*/return a + b + 1/' sum.py; fi\n";
    let mut play = Play::begin(house, repository, request).await;
    let pull = play.finish().await;
    assert_eq!(play.count(has_failed), 1, "{play}");
    assert!(pull.body.contains("**fixed**"), "{}", pull.body);
    let checks = house.client.task_checks(&play.id).await.unwrap();
    assert_eq!((checks.conclusion, checks.commit), (Conclusion::Passes, pull.delivered));
}

pub(crate) async fn tests_that_never_pass_pause_the_task_at_the_limit(house: &House) {
    let repository = Repository::make(&house.repositories(), "loop");
    let request =
        "Mend the sum.\n#implement\nsed -i \"s/return .*/return $(date +%s%N)/\" sum.py\n";
    let wish = NewTask { attempts: Some(2), ..wish("actor", request) };
    let mut play = Play::begin_as(house, repository, &wish).await;
    play.approve().await;
    let failure = play.failure().await;
    assert_eq!((failure.kind.as_str(), failure.phase.as_str()), ("test_loop", "verify"));
    let printed = |words: &str| failure.last_lines.iter().any(|line| line.contains(words));
    assert!(printed("test_two_and_three"), "{failure:#?}");
    assert_eq!(play.count(has_failed), 2, "{play}");
    assert!(house.client.pulls(&play.repository.name).await.unwrap().is_empty());
    play.cancel().await;
}

pub(crate) async fn the_same_change_again_is_no_progress_and_pauses_early(house: &House) {
    let repository = Repository::make(&house.repositories(), "same");
    let request = "Mend the sum.\n#implement\nsed -i 's/return .*/return 7/' sum.py\n";
    let mut play = Play::begin(house, repository, request).await;
    play.approve().await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "no_progress", "{failure:#?}");
    let printed = |words: &str| failure.last_lines.iter().any(|line| line.contains(words));
    assert!(printed("test_nothing"), "{failure:#?}");
    assert!(play.count(has_failed) <= 2, "long before the limit of five: {play}");
    play.cancel().await;
}

pub(crate) async fn a_check_that_cannot_be_run_is_told_as_a_dependency_conflict(house: &House) {
    let repository = Repository::make(&house.repositories(), "stranger");
    let mut play = Play::begin_as(house, repository, &wish("stranger", "Mend the sum.")).await;
    play.approve().await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "dependency_conflict", "{failure:#?}");
    assert!(failure.message.contains("no-such-program"), "{failure:#?}");
    assert!(failure.last_lines.iter().any(|line| line.contains("not found")), "{failure:#?}");
    play.cancel().await;
}

pub(crate) async fn a_test_that_is_weakened_is_called_out_in_checks_and_pull_request(
    house: &House,
) {
    let repository = Repository::make(&house.repositories(), "weakened");
    let request = "Mend the sum.\n#implement\nsed -i 's/a - b/a + b/' sum.py\n\
        sed -i '/def test_nothing/,+2d' test_sum.py\n";
    let mut play = Play::begin(house, repository, request).await;
    play.approve().await;
    let pull = play.delivered().await;
    let checks = house.client.task_checks(&play.id).await.unwrap();
    let told = format!("{:?}", checks.weakened);
    assert!(told.contains("test_nothing"), "{checks:#?}");
    let told = r"test deleted: test\_sum.py:";
    assert!(pull.body.contains(told), "{}", pull.body);
    assert!(pull.body.contains(r"\`test\_nothing\` is gone"), "{}", pull.body);
    assert_eq!(pull.body.matches(r"\`test\_nothing\`").count(), 1, "once: {}", pull.body);
    play.merge(&pull).await;
}

pub(crate) async fn coverage_of_changed_lines_and_the_people_of_the_servers_file_are_told(
    house: &House,
) {
    let repository = Repository::make(&house.repositories(), "measured");
    let mut play = Play::begin_as(house, repository, &wish("measuring", "Mend the sum.")).await;
    play.approve().await;
    let pull = play.delivered().await;
    let checks = house.client.task_checks(&play.id).await.unwrap();
    let coverage = checks.coverage.as_ref().map(|it| (it.covered, it.missed));
    assert_eq!(coverage, Some((1, 0)), "{checks:#?}");
    let told = "Coverage: tests run 1 of the 1 changed lines that they could run.";
    assert!(pull.body.contains(told), "{}", pull.body);
    assert!(pull.body.contains(&format!("`lamp shell {}`", play.id)), "{}", pull.body);
    let people = "--format=%an <%ae>|%cn <%ce>|%(trailers:key=Co-authored-by,valueonly)";
    let people = play.repository.git(&["show", "-s", people, &pull.delivered]);
    assert_eq!(
        people.trim(),
        "Example's agents <agents@example.com>|Lamplighter <lamplighter@localhost>|\
         Ann Example <ann@example.com>"
    );
    play.merge(&pull).await;
}
