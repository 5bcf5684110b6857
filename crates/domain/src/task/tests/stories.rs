//! Whole lives of tasks, as a person would tell them.

use super::*;

fn tell(first: Vec<Command>, then: Vec<Command>) -> String {
    let skip = first.len();
    let all = first.into_iter().chain(then).collect();
    story(limits(), all).lines().skip(skip).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_approved_plan_becomes_a_merged_pull_request() {
    let mut commands = to_the_pull_request();
    commands.push(report(Report::Merged));
    insta::assert_snapshot!(story(limits(), commands));
}

#[test]
fn work_never_starts_without_approval() {
    let then = vec![
        implemented(1),
        report(Report::Delivered { number: PullRequestNumber(42), receipt: evidence() }),
        report(Report::Admitted),
        ask(ann(), Ask::Approve { plan: plan(1).hash(), conditions: Conditions::default() }),
        approve(2),
        approve(1),
        approve(1),
    ];
    insta::assert_snapshot!(tell(to_the_gate(), then));
}

#[test]
fn four_eyes_stop_the_requester() {
    let gate = GateRules { four_eyes: FourEyes::Required, ..GateRules::default() };
    let own = person(ANN, Role::Admin);
    let mut commands = to_the_gate();
    commands
        .push(ask(own, Ask::Approve { plan: plan(1).hash(), conditions: Conditions::default() }));
    let told = story(Limits { gate, ..limits() }, commands);
    assert!(told.ends_with("four eyes: someone other than the requester must approve"), "{told}");
}

#[test]
fn a_rejected_plan_goes_back_to_research_with_the_comment() {
    let reject = |comment: &str| {
        ask(ann(), Ask::Reject { plan: plan(1).hash(), comment: comment.to_owned() })
    };
    let mut then = vec![reject("  "), reject("use the clock")];
    then.extend(admitted_and_prepared());
    then.extend(researched_and_planned(2));
    then.extend([approve(1), approve(2)]);
    insta::assert_snapshot!(tell(to_the_gate(), then));
}

#[test]
fn an_approval_that_does_not_come_pauses_and_days_later_it_goes_on() {
    let then = vec![
        report(Report::TimeUp(TimeUp::Approval)),
        report(Report::TimeUp(TimeUp::Approval)),
        ask(ann(), Ask::Resume),
        report(Report::TimeUp(TimeUp::Approval)),
        approve(1),
    ];
    insta::assert_snapshot!(tell(to_the_gate(), then));
}

#[test]
fn a_question_waits_for_its_answer() {
    let question = QuestionId::from_u128(9);
    let asked = Question { id: question, text: "which login?".to_owned(), choices: Vec::new() };
    let answer = |question| ask(ann(), Ask::Answer { question, text: "the web one".to_owned() });
    let mut then = vec![
        report(Report::Asked { question: asked, session: Some("s".to_owned()) }),
        answer(QuestionId::from_u128(8)),
        ask(person(BOB, Role::Viewer), Ask::Answer { question, text: "x".to_owned() }),
        answer(question),
    ];
    then.extend(admitted_and_prepared());
    then.extend(researched_and_planned(1));
    insta::assert_snapshot!(tell(admitted_and_prepared().to_vec(), then));
}

#[test]
fn failing_checks_are_tried_again_up_to_the_limit() {
    let mut then = vec![
        implemented(1),
        checks_failed("login", 1),
        implemented(2),
        checks_failed("login", 2),
        ask(ann(), Ask::Resume),
    ];
    then.extend(admitted_and_prepared());
    then.extend([implemented(3), report(Report::ChecksPassed { evidence: evidence() })]);
    insta::assert_snapshot!(tell(to_implementing(), then));
}

#[test]
fn the_same_change_with_the_same_failures_is_no_progress() {
    let mut task = Task::replay([&requested(Limits { attempts: 9, ..limits() })]).unwrap();
    let again =
        [implemented(1), checks_failed("login", 1), implemented(1), checks_failed("login", 1)];
    for command in to_implementing().into_iter().chain(again) {
        let event = decide(&task, command).unwrap();
        task = task.after(&event);
    }
    let Stage::Paused { why: PauseReason::Failure(failure), .. } = &task.stage else {
        panic!("{:?}", task.stage)
    };
    assert_eq!(failure.kind, FailureKind::NoProgress);
}

#[test]
fn a_reviewer_sends_back_twice_and_then_asks_for_help() {
    let round = |number| {
        vec![
            implemented(number),
            report(Report::ChecksPassed { evidence: evidence() }),
            faults(&["a"]),
        ]
    };
    let then = [round(1), round(2), round(3)].concat();
    insta::assert_snapshot!(tell(to_implementing(), then));
}

#[test]
fn comments_wake_the_same_task_but_not_for_ever() {
    let comment = || ask(bob(), Ask::Message { text: "also the docs".to_owned() });
    let red = |head| report(Report::CheckFailedOnHead { head, check: "ci".to_owned() });
    let mut then = vec![red(commit(7)), comment()];
    then.extend(admitted_and_prepared());
    then.extend([
        implemented(1),
        report(Report::ChecksPassed { evidence: evidence() }),
        report(Report::ReviewPassed { evidence: evidence() }),
        report(Report::Delivered { number: PullRequestNumber(42), receipt: evidence() }),
        red(commit(1)),
        report(Report::TakenOver),
        comment(),
    ]);
    insta::assert_snapshot!(tell(to_the_pull_request(), then));
}

#[test]
fn what_is_said_on_a_pull_request_is_heard_once_whoever_tells_it() {
    let said =
        |names: &[&str]| report(Report::Remarked(names.iter().map(|name| remark(name)).collect()));
    let red = |check: &str| {
        report(Report::CheckFailedOnHead { head: commit(7), check: check.to_owned() })
    };
    let again = |number| {
        let mut round = admitted_and_prepared().to_vec();
        round.extend([
            implemented(number),
            report(Report::ChecksPassed { evidence: evidence() }),
            report(Report::ReviewPassed { evidence: evidence() }),
            report(Report::Delivered { number: PullRequestNumber(42), receipt: evidence() }),
        ]);
        round
    };
    let limits = Limits { follow_ups: 2, ..Limits::default() };
    let mut task = Task::replay([&requested(limits)]).unwrap();
    let mut heard = Vec::new();
    let first = vec![said(&["1"]), said(&["1", "2"])];
    let second = vec![said(&["1"]), said(&["1", "2"])];
    let third = vec![red("ci"), said(&["3"])];
    let fourth = vec![red("ci"), red("lint"), red("docs")];
    let rounds = [first, again(7), second, again(7), third, again(7), fourth].concat();
    for command in to_the_pull_request().into_iter().chain(rounds) {
        match decide(&task, command) {
            Ok(event) => {
                if let Event::Woken { cause } = &event {
                    heard.push(format!("{cause:?}"));
                }
                task = task.after(&event);
            }
            Err(refusal) => heard.push(refusal.to_string()),
        }
    }
    insta::assert_snapshot!(heard.join("\n"));
}

#[test]
fn a_budget_pauses_the_task_and_a_larger_one_resumes_it() {
    use crate::money::Money;
    let charge = |dollars| {
        let cost = Cost { money: Money::from_dollars(dollars), ..Cost::ZERO };
        report(Report::Charged { phase: Phase::Implement, cost })
    };
    let raise = |dollars| ask(bob(), Ask::RaiseBudget { to: Money::from_dollars(dollars) });
    let then = vec![charge(9), charge(2), ask(ann(), Ask::Resume), raise(11), raise(20), charge(1)];
    insta::assert_snapshot!(tell(to_implementing(), then));
}

#[test]
fn neither_a_remark_nor_a_failed_check_wakes_a_task_that_has_spent_its_budget() {
    use crate::money::Money;
    let cost = Cost { money: Money::from_dollars(1_000), ..Cost::ZERO };
    let mut task = Task::replay([&requested(limits())]).unwrap();
    let spent = report(Report::Charged { phase: Phase::Deliver, cost });
    for command in to_the_pull_request().into_iter().chain([spent]) {
        let event = decide(&task, command).unwrap();
        task = task.after(&event);
    }
    let Stage::PullRequestOpen { head, .. } = task.stage.clone() else {
        panic!("{:?}", task.stage)
    };
    let red = Report::CheckFailedOnHead { head, check: "ci".to_owned() };
    for news in [red, Report::Remarked(vec![remark("1")])] {
        let refused = decide(&task, report(news)).unwrap_err();
        assert!(matches!(refused, Refusal::OverBudget { .. }), "{refused}");
    }
}

#[test]
fn plan_drift_pauses_until_someone_amends_the_approval() {
    let drift = Failure::new(FailureKind::PlanDrift, Phase::Implement, "wrote `deploy.sh`");
    let amend = |by| ask(by, Ask::Amend { conditions: Conditions::default() });
    let then = vec![report(Report::Failed(drift)), amend(ann()), amend(bob())];
    insta::assert_snapshot!(tell(to_implementing(), then));
}

#[test]
fn a_failed_task_is_retried_from_a_phase_it_had_reached() {
    let lost = Failure::new(FailureKind::SandboxLost, Phase::Implement, "the guest went away");
    let retry = |from| ask(ann(), Ask::Retry { from });
    let then = vec![
        report(Report::Failed(lost)),
        report(Report::Admitted),
        ask(ann(), Ask::Resume),
        retry(Phase::Verify),
        retry(Phase::Implement),
        report(Report::Admitted),
    ];
    insta::assert_snapshot!(tell(to_implementing(), then));
}

#[test]
fn a_retry_from_research_needs_a_new_approval() {
    let lost = Failure::new(FailureKind::SandboxLost, Phase::Implement, "the guest went away");
    let mut then =
        vec![report(Report::Failed(lost)), ask(ann(), Ask::Retry { from: Phase::Research })];
    then.extend(admitted_and_prepared());
    then.extend(researched_and_planned(2));
    then.push(approve(1));
    let told = tell(to_implementing(), then);
    assert!(told.ends_with("is the one waiting; read it and decide again"), "{told}");
}

#[test]
fn a_phase_has_its_own_time_limit() {
    let then = vec![
        report(Report::TimeUp(TimeUp::Phase(Phase::Research))),
        report(Report::TimeUp(TimeUp::Phase(Phase::Implement))),
    ];
    insta::assert_snapshot!(tell(to_implementing(), then));
}

#[test]
fn only_those_who_may_can_stop_a_task() {
    let stranger = person(BOB, Role::Delegator);
    let then = vec![
        ask(stranger.clone(), Ask::Cancel),
        ask(stranger, Ask::Pause),
        ask(person(BOB, Role::Security), Ask::Pause),
        ask(ann(), Ask::Cancel),
        ask(ann(), Ask::Resume),
    ];
    insta::assert_snapshot!(tell(to_implementing(), then));
}

#[test]
fn an_unusable_plan_is_refused_before_anyone_sees_it() {
    let mut empty = plan(1);
    empty.files.clear();
    let then = vec![
        report(Report::Researched { notes: evidence(), session: None }),
        report(Report::PlanWritten { plan: empty, session: None }),
    ];
    let told = tell(admitted_and_prepared().to_vec(), then);
    assert!(
        told.ends_with("the plan cannot be shown to a person: the plan changes no file"),
        "{told}"
    );
}

#[test]
fn what_an_approver_limited_only_an_amended_approval_widens() {
    use crate::money::Money;
    let condition = Conditions { budget: Some(Money::from_dollars(1)), ..Conditions::default() };
    let mut commands = to_the_gate();
    let approve = Ask::Approve { plan: plan(1).hash(), conditions: condition };
    commands.push(ask(bob(), approve));
    commands.extend(admitted_and_prepared());
    let cost = Cost { money: Money::from_dollars(2), ..Cost::ZERO };
    let wider = Conditions { budget: Some(Money::from_dollars(5)), ..Conditions::default() };
    let then = vec![
        report(Report::Charged { phase: Phase::Implement, cost }),
        ask(ann(), Ask::Resume),
        ask(bob(), Ask::RaiseBudget { to: Money::from_dollars(20) }),
        ask(ann(), Ask::Amend { conditions: wider.clone() }),
        ask(bob(), Ask::Amend { conditions: wider }),
    ];
    insta::assert_snapshot!(tell(commands, then));
}

#[test]
fn a_path_that_could_never_match_is_refused_at_the_gate() {
    let told = |path: &str| {
        let conditions =
            Conditions { paths: Some([path.to_owned()].into()), ..Conditions::default() };
        let approve = Ask::Approve { plan: plan(1).hash(), conditions };
        tell(to_the_gate(), vec![ask(bob(), approve)])
    };
    assert!(told("src/login.rs").ends_with("-> queued"));
    for wrong in ["src/", "src/**", "../src", "/src", ""] {
        assert!(told(wrong).contains("is not a path that can be allowed"), "{wrong}");
    }
}

#[test]
fn a_condition_that_hides_something_or_fits_into_no_receipt_is_refused_at_the_gate() {
    use crate::money::Money;
    let one = |text: &str| Some([text.to_owned()].into());
    let path = |text: &str| Conditions { paths: one(text), ..Conditions::default() };
    let host = |text: &str| Conditions { hosts: one(text), ..Conditions::default() };
    let command = |text: &str| Conditions { commands: one(text), ..Conditions::default() };
    let told = |conditions: &Conditions| {
        let approve = Ask::Approve { plan: plan(1).hash(), conditions: conditions.clone() };
        tell(to_the_gate(), vec![ask(bob(), approve)])
    };
    let longest = "x".repeat(2000);
    for good in [path(&longest), host("a.example"), host("*.b.example"), command("make test")] {
        assert!(told(&good).ends_with("-> queued"), "{good:?}");
    }
    let long = "x".repeat(2001);
    let money = Conditions { budget: Some(Money::from_micros(1 << 53)), ..Conditions::default() };
    let time = std::time::Duration::from_secs(u64::MAX);
    let time = Conditions { time: Some(time), ..Conditions::default() };
    let wrong = [
        path(&long),
        path("src\u{200b}"),
        path("a\nb"),
        host("a.example\u{ad}"),
        host("https://a.example/"),
        host("*"),
        host(&long),
        command(&long),
        command("make\u{202e}"),
        command("\u{1b}[8mmake"),
        command(" "),
        money,
        time,
    ];
    for conditions in wrong {
        let told = told(&conditions);
        assert!(told.contains("cannot be allowed"), "{told}");
        assert!(told.chars().all(crate::visible::is_visible), "{told:?}");
    }
}

#[test]
fn a_merge_counts_whatever_has_become_of_the_plan() {
    let then = vec![
        ask(bob(), Ask::Message { text: "also the docs".to_owned() }),
        ask(ann(), Ask::Pause),
        ask(ann(), Ask::Retry { from: Phase::Plan }),
        report(Report::Merged),
    ];
    insta::assert_snapshot!(tell(to_the_pull_request(), then));
}
