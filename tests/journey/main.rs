//! The whole product, from a sentence to a merged pull request: the real `lamp up`, real sandboxes, the real gateway, a real repository.
//!
//! ```text
//!  a scene ──▶ wire::Client ──▶ lamp up (SQLite or PostgreSQL) ──▶ sandboxes: the actor, or the built-in agent
//!     │                              └──▶ branch, pull request, receipt in a repository of the scene's own
//!     └──▶ plays the people: answers, approves, rejects, comments, merges, pulls the plug
//! ```
//!
//! A scene is a function whose name says what holds. Scenes that can share a server do, a few at a time; each has a repository and a task of its
//! own, and each is told by its name when it fails. When the last is over the server ends, and nothing of it may be left on this host.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot begin fails, and says what it saw"
)]

mod actor;
mod blocked;
mod checks;
mod crowd;
mod evening;
mod full;
#[path = "../soak/host.rs"]
#[allow(dead_code, reason = "the soak asks for more of what is on this host")]
mod host;
mod house;
mod kill;
mod leftovers;
mod limits;
mod loss;
mod people;
mod play;
mod proof;
mod pulls;
mod repository;
mod reviews;
mod setup;
mod straight;

use evening::{Scene, scenes};
use house::Ground;

/// One evening on each database: the scenes share its server.
macro_rules! on_both_databases {
    ($scenes:ident, $sqlite:ident, $postgresql:ident) => {
        #[test]
        fn $sqlite() {
            evening::play(Ground::Sqlite, &$scenes());
        }

        #[test]
        fn $postgresql() {
            evening::play(Ground::Postgres, &$scenes());
        }
    };
}

on_both_databases!(
    straight_scenes,
    a_sentence_becomes_a_merged_pull_request_on_sqlite,
    a_sentence_becomes_a_merged_pull_request_on_postgresql
);
on_both_databases!(
    people_scenes,
    people_are_heard_before_and_after_the_delivery_on_sqlite,
    people_are_heard_before_and_after_the_delivery_on_postgresql
);
on_both_databases!(
    checks_scenes,
    checks_are_run_and_believed_on_sqlite,
    checks_are_run_and_believed_on_postgresql
);
#[test]
fn what_a_setup_leaves_is_never_the_agents_change() {
    evening::play(Ground::Sqlite, &leftovers_scenes());
}

on_both_databases!(
    reviews_scenes,
    findings_are_mended_or_dismissed_on_sqlite,
    findings_are_mended_or_dismissed_on_postgresql
);
on_both_databases!(
    limits_scenes,
    limits_are_kept_and_told_on_sqlite,
    limits_are_kept_and_told_on_postgresql
);

#[test]
fn a_project_gets_what_it_needs_without_a_file_of_ours() {
    evening::play(Ground::Sqlite, &setup_scenes());
}

#[test]
fn a_blocked_host_is_told_allowed_and_reached_on_sqlite() {
    evening::play_outside(Ground::Sqlite, &blocked_scenes());
}

#[test]
fn a_blocked_host_is_told_allowed_and_reached_on_postgresql() {
    evening::play_outside(Ground::Postgres, &blocked_scenes());
}

on_both_databases!(
    loss_scenes,
    guests_sandboxes_and_the_gateway_may_be_killed_on_sqlite,
    guests_sandboxes_and_the_gateway_may_be_killed_on_postgresql
);
on_both_databases!(crowd_scenes, a_crowd_takes_turns_on_sqlite, a_crowd_takes_turns_on_postgresql);

#[test]
fn a_server_killed_at_every_odd_event_of_a_journey_loses_nothing() {
    kill::one_kill_for_each_journey(1, 2);
}

#[test]
fn a_server_killed_at_every_even_event_of_a_journey_loses_nothing() {
    kill::one_kill_for_each_journey(2, 2);
}

#[test]
fn one_journey_survives_a_kill_at_each_of_its_events_on_postgresql() {
    kill::one_journey_with_all_the_kills(Ground::Postgres);
}

#[test]
fn a_full_journey_killed_at_each_of_its_events_comes_to_the_same_and_is_paid_for() {
    full::it_comes_to_the_same_and_is_paid_for(full::Moment::AtOnce);
}

#[test]
fn a_full_journey_killed_while_its_model_is_asked_comes_to_the_same_and_is_paid_for() {
    full::it_comes_to_the_same_and_is_paid_for(full::Moment::WhileTheModelIsAsked);
}

fn straight_scenes() -> Vec<Scene> {
    scenes![
        straight::a_program_without_a_model_is_asked_and_its_change_is_merged,
        straight::the_built_in_agent_mends_a_bug_and_its_change_is_merged,
    ]
}

fn people_scenes() -> Vec<Scene> {
    scenes![
        // First, because it waits for a minute, while the others have their turn.
        people::a_plan_that_nobody_reads_in_time_pauses_and_goes_on_when_somebody_does,
        people::a_question_waits_and_its_answer_reaches_the_agent,
        people::a_rejected_plan_comes_back_changed_by_the_comment,
        people::a_task_that_is_paused_in_the_middle_rests_and_goes_on_where_it_was,
        people::a_task_that_is_cancelled_in_the_middle_leaves_nothing,
        pulls::a_comment_wakes_the_same_task_on_the_same_branch,
        pulls::a_failed_check_wakes_the_same_task_on_the_same_branch,
        pulls::a_branch_that_is_merged_with_plain_git_ends_its_task,
        pulls::a_persons_push_to_the_branch_makes_the_task_theirs,
    ]
}

fn checks_scenes() -> Vec<Scene> {
    scenes![
        checks::findings_of_failing_tests_reach_the_agent_which_mends_them,
        checks::tests_that_never_pass_pause_the_task_at_the_limit,
        checks::the_same_change_again_is_no_progress_and_pauses_early,
        checks::a_check_that_cannot_be_run_is_told_as_a_dependency_conflict,
        checks::a_test_that_is_weakened_is_called_out_in_checks_and_pull_request,
        checks::coverage_of_changed_lines_and_the_people_of_the_servers_file_are_told,
    ]
}

fn leftovers_scenes() -> Vec<Scene> {
    scenes![
        leftovers::what_a_setup_leaves_is_not_delivered_nor_taken_for_drift,
        leftovers::what_the_agent_changes_of_it_is_its_own,
        leftovers::an_agent_that_did_nothing_made_no_progress_whatever_a_setup_left,
    ]
}

fn reviews_scenes() -> Vec<Scene> {
    scenes![
        reviews::a_finding_of_the_reviewer_is_sent_back_and_mended,
        reviews::a_finding_that_a_person_dismisses_never_counts_again,
    ]
}

fn limits_scenes() -> Vec<Scene> {
    scenes![
        limits::an_agent_that_needs_too_much_memory_is_told_with_its_peak,
        limits::a_check_that_needs_too_much_memory_is_told_with_its_peak,
        limits::a_budget_that_is_hit_pauses_and_a_larger_one_goes_on,
        limits::work_outside_the_approved_paths_pauses_until_somebody_amends,
        limits::a_host_that_the_approval_does_not_allow_pauses_until_somebody_amends,
        limits::an_agent_that_fills_its_disk_is_told_so,
        limits::an_agent_that_crashes_is_told_with_its_last_words_and_can_be_retried,
        limits::a_model_that_is_away_is_asked_again,
    ]
}

fn setup_scenes() -> Vec<Scene> {
    scenes![
        setup::a_project_is_set_up_as_its_own_files_say_and_the_next_task_finds_its_image,
        setup::a_registry_that_the_policy_does_not_allow_is_asked_for_once_with_the_line_to_write,
        setup::a_setup_that_fails_is_told_by_its_first_error_and_the_task_goes_on,
        setup::a_declared_setup_has_the_files_variables_and_its_programs_are_found,
    ]
}

fn blocked_scenes() -> Vec<Scene> {
    scenes![
        blocked::a_host_that_the_policy_does_not_allow_is_reached_once_it_does,
        blocked::a_host_that_only_the_approval_leaves_out_is_reached_once_it_is_amended,
        blocked::checks_that_need_a_host_are_told_so_and_pass_once_it_is_allowed,
    ]
}

fn loss_scenes() -> Vec<Scene> {
    scenes![
        loss::a_guest_that_is_killed_is_told_and_the_task_lands_when_it_is_retried,
        loss::a_sandbox_that_is_killed_is_told_and_the_task_lands_when_it_is_retried,
        loss::a_gateway_that_is_killed_while_a_model_answers_is_replaced_and_the_task_goes_on,
    ]
}

fn crowd_scenes() -> Vec<Scene> {
    scenes![crowd::ten_tasks_at_once_take_turns_and_all_end_well]
}
