//! Findings that a person dismisses stay dismissed (RV1), and nobody else dismisses them.

use proptest::prelude::*;

use super::{properties::*, *};

fn dismiss(by: Person, what: &str) -> Command {
    ask(by, Ask::Dismiss { finding: finding(what), why: Some("it cannot happen".to_owned()) })
}

/// One round of work, which the reviewer finds these faults in.
fn round(number: u32, what: &[&str]) -> Vec<Command> {
    vec![implemented(number), report(Report::ChecksPassed { evidence: evidence() }), faults(what)]
}

fn delivered() -> Command {
    report(Report::Delivered { number: PullRequestNumber(42), receipt: evidence() })
}

fn to_the_last_round(what: &[&str]) -> Vec<Command> {
    [to_implementing(), round(1, &["x"]), round(2, &["y"]), round(3, what)].concat()
}

fn play(commands: Vec<Command>) -> Task {
    let mut task = Task::replay([&requested(limits())]).unwrap();
    for command in commands {
        let event = decide(&task, command).unwrap();
        task = task.after(&event);
    }
    task
}

fn tell(first: Vec<Command>, then: Vec<Command>) -> String {
    let skip = first.len();
    let all = first.into_iter().chain(then).collect();
    story(limits(), all).lines().skip(skip).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_task_whose_last_findings_are_all_dismissed_is_delivered_when_it_goes_on() {
    let mut then = vec![dismiss(bob(), "a"), dismiss(bob(), "b"), ask(bob(), Ask::Resume)];
    then.extend(admitted_and_prepared());
    then.push(delivered());
    insta::assert_snapshot!(tell(to_the_last_round(&["a", "b"]), then), @r"
    have a finding dismissed -> paused
    have a finding dismissed -> paused
    be resumed           -> queued
    be admitted          -> preparing
    be prepared          -> delivering
    open a pull request  -> pull request open
    ");
}

#[test]
fn what_is_delivered_is_the_commit_that_was_reviewed() {
    let commands = [
        to_the_last_round(&["a"]),
        vec![dismiss(bob(), "a"), ask(bob(), Ask::Resume)],
        admitted_and_prepared().to_vec(),
    ];
    let task = play(commands.concat());
    let Stage::Working(Work::Deliver { commit: delivered, mandate }) = &task.stage else {
        panic!("{:?}", task.stage)
    };
    assert_eq!(*delivered, commit(3));
    assert_eq!(mandate.approval().plan, plan(1).hash());
}

#[test]
fn a_task_with_a_finding_left_is_mended_when_it_goes_on() {
    let mut then = vec![dismiss(bob(), "a"), ask(bob(), Ask::Resume)];
    then.extend(admitted_and_prepared());
    then.push(delivered());
    insta::assert_snapshot!(tell(to_the_last_round(&["a", "b"]), then), @r"
    have a finding dismissed -> paused
    be resumed           -> queued
    be admitted          -> preparing
    be prepared          -> implementing
    open a pull request  -x a task that is implementing cannot open a pull request
    ");
}

#[test]
fn words_for_the_agent_are_heard_though_all_findings_are_dismissed() {
    let hint = ask(ann(), Ask::Message { text: "rename it too".to_owned() });
    for mut then in [
        vec![hint.clone(), dismiss(bob(), "a"), ask(bob(), Ask::Resume)],
        vec![dismiss(bob(), "a"), hint, ask(bob(), Ask::Resume)],
        vec![dismiss(bob(), "a"), ask(bob(), Ask::Retry { from: Phase::Implement })],
    ] {
        then.extend(admitted_and_prepared());
        let told = tell(to_the_last_round(&["a"]), then);
        assert!(told.ends_with("be prepared          -> implementing"), "{told}");
    }
}

#[test]
fn an_agent_that_does_not_mend_what_is_no_fault_is_not_asked_for_ever() {
    let nothing = Failure::new(FailureKind::NoProgress, Phase::Implement, "nothing was changed");
    let nothing = || report(Report::Failed(nothing.clone()));
    let hint = ask(ann(), Ask::Message { text: "look again".to_owned() });
    let first = [to_implementing(), round(1, &["a"]), vec![nothing()]].concat();
    let again = || [vec![ask(bob(), Ask::Resume)], admitted_and_prepared().to_vec()].concat();
    let then = [vec![hint, dismiss(bob(), "a")], again(), vec![nothing()], again()].concat();
    insta::assert_snapshot!(tell(first, then), @r"
    take a message       -> paused
    have a finding dismissed -> paused
    be resumed           -> queued
    be admitted          -> preparing
    be prepared          -> implementing
    fail                 -> paused
    be resumed           -> queued
    be admitted          -> preparing
    be prepared          -> delivering
    ");
}

#[test]
fn a_dismissed_finding_counts_in_no_later_round_whoever_repeats_it() {
    let first = [to_implementing(), round(1, &["a", "b"])].concat();
    let then = [
        vec![dismiss(bob(), "a")],
        round(2, &["a", "b"]),
        vec![dismiss(bob(), "b")],
        round(3, &["a", "b"]),
        vec![delivered(), ask(bob(), Ask::Message { text: "and the docs".to_owned() })],
        admitted_and_prepared().to_vec(),
        round(4, &["b"]),
    ]
    .concat();
    insta::assert_snapshot!(tell(first, then), @r"
    have a finding dismissed -> implementing
    submit a change      -> verifying
    pass its checks      -> reviewing
    fail its review      -> implementing
    have a finding dismissed -> implementing
    submit a change      -> verifying
    pass its checks      -> reviewing
    fail its review      -> delivering
    open a pull request  -> pull request open
    take a message       -> waking for a follow-up
    be admitted          -> preparing
    be prepared          -> implementing
    submit a change      -> verifying
    pass its checks      -> reviewing
    fail its review      -> delivering
    ");
}

#[test]
fn what_is_dismissed_while_the_reviewer_works_does_not_count() {
    let commands = [to_implementing(), round(1, &["a"]), round(2, &[])].concat();
    let reviewing = commands.len() - 1;
    let then = vec![dismiss(bob(), "a"), faults(&["a"])];
    insta::assert_snapshot!(tell(commands[..reviewing].to_vec(), then), @r"
    have a finding dismissed -> reviewing
    fail its review      -> delivering
    ");
}

#[test]
fn only_those_who_may_dismiss_only_what_was_found_and_say_why_in_a_line() {
    let because =
        |why: &str| ask(bob(), Ask::Dismiss { finding: finding("a"), why: Some(why.to_owned()) });
    let other = FindingId::of("src/logout.rs", "a", "an empty name");
    let security = person(PersonId::from_u128(7), Role::Security);
    let then = vec![
        dismiss(ann(), "a"),
        dismiss(security, "a"),
        ask(bob(), Ask::Dismiss { finding: other, why: None }),
        because(" "),
        because("one\ntwo"),
        because("\u{202e}enif"),
        because(&"x".repeat(2001)),
        because("it is meant so"),
        dismiss(bob(), "a"),
        ask(bob(), Ask::Cancel),
        ask(bob(), Ask::Dismiss { finding: finding("x"), why: None }),
    ];
    insta::assert_snapshot!(tell(to_the_last_round(&["a", "b"]), then), @r"
    have a finding dismissed -x a delegator may not do that to this task
    have a finding dismissed -x a security may not do that to this task
    have a finding dismissed -x no review of this task has found `2e957cfae90a8a3ab7780c20c4d0bb8a360e9a817bb10a4d19b8580772cd97ae`
    have a finding dismissed -x the text is empty
    have a finding dismissed -x the reason cannot be kept: it has the character U+000A, which nobody sees
    have a finding dismissed -x the reason cannot be kept: it has the character U+202E, which nobody sees
    have a finding dismissed -x the reason cannot be kept: it has 2001 bytes, and a receipt holds 2000
    have a finding dismissed -> paused
    have a finding dismissed -x that finding was dismissed already
    be cancelled         -> cancelled
    have a finding dismissed -x a task that is cancelled cannot have a finding dismissed
    ");
}

/// A history from before findings had names: nothing of it can be dismissed, and so nothing is delivered unseen.
#[test]
fn a_review_without_names_is_mended_as_it_always_was() {
    let mut then = vec![ask(bob(), Ask::Resume)];
    then.extend(admitted_and_prepared());
    let told = tell(to_the_last_round(&[]), then);
    assert!(told.ends_with("be prepared          -> implementing"), "{told}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_delivered_against_a_finding_that_no_person_dismissed(commands in any_commands()) {
        let events = live(commands);
        let mut dismissed = BTreeSet::new();
        let mut open = BTreeSet::new();
        let mut task: Option<Task> = None;
        for event in &events {
            match event {
                Event::FindingDismissed { finding, .. } => { dismissed.insert(*finding); }
                Event::ReviewFoundFaults { findings, .. } => open.clone_from(findings),
                Event::ReviewPassed { .. } => open.clear(),
                _other => {}
            }
            let after = match task {
                None => Task::replay([event]).unwrap(),
                Some(task) => task.after(event),
            };
            if let Some(Work::Deliver { .. }) = after.stage.work() {
                prop_assert!(open.is_subset(&dismissed), "{:?}", open);
            }
            task = Some(after);
        }
    }

    #[test]
    fn only_a_person_who_may_widen_ever_dismisses(
        commands in any_commands(), next in prop_oneof![any_ask(), any_report()],
    ) {
        let task = Task::replay(&live(commands)).unwrap();
        let by = match &next {
            Command::Ask { by, .. } => Some(by.clone()),
            Command::Report(_) => None,
        };
        if let Ok(Event::FindingDismissed { finding, by: who, .. }) = decide(&task, next) {
            let by = by.unwrap();
            prop_assert_eq!(by.id, who);
            prop_assert!(matches!(by.role, Role::Approver | Role::Maintainer | Role::Admin));
            prop_assert!(task.found.contains(&finding));
        }
    }
}
