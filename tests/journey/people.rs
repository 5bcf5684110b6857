//! What people say reaches the agent, and a task waits for them as long as it takes.

use wire::{
    sandbox::{Owner, State},
    task::{
        ask::{AnswerQuestion, Approve, Reject, SendMessage},
        event::{PauseReason, TaskEvent},
        plan::Plan,
    },
};

use crate::{
    house::House,
    play::{Play, wish},
    repository::Repository,
};

pub(crate) async fn a_question_waits_and_its_answer_reaches_the_agent(house: &House) {
    let repository = Repository::make(&house.repositories(), "question");
    let request = "Mend the sum.\n#plan\ngrep -q 'the second one' \"$HEARD\" || \
        printf '{\"question\": {\"text\": \"Which of them?\", \"choices\": [\"the first one\", \"the second one\"]}}' > \"$LAMP_ANSWER\"\n";
    let mut play = Play::begin(house, repository, request).await;
    let question = play
        .until("a question", |event| {
            let TaskEvent::QuestionAsked { question, .. } = event else { return None };
            Some(question.clone())
        })
        .await;
    assert_eq!((question.text.as_str(), question.choices.len()), ("Which of them?", 2));
    let task = play.task().await;
    assert_eq!(task.state, "waiting for an answer");
    assert_eq!(task.question.as_ref(), Some(&question));
    let wish =
        AnswerQuestion { question: Some(question.id), text: "Take the second one.".to_owned() };
    house.client.answer(&play.id, &wish).await.unwrap();
    play.finish().await;
    let said = play.transcript().await;
    assert!(said.contains("plan heard {\"guidance\": [\"Take the second one.\"]"), "{said}");
}

pub(crate) async fn a_rejected_plan_comes_back_changed_by_the_comment(house: &House) {
    let repository = Repository::make(&house.repositories(), "rejected");
    let request = "Mend the sum.\n#plan\nif grep -q 'name the risk' \"$HEARD\"; then \
        sed -i 's/\"risks\": \\[\\]/\"risks\": [\"sums of others change\"]/' \"$LAMP_ANSWER\"; fi\n";
    let mut play = Play::begin(house, repository, request).await;
    let first = play.plan().await;
    assert!(first.risks.is_empty());
    let no = Reject { plan: first.hash.clone(), comment: "Please name the risk.".to_owned() };
    house.client.reject(&play.id, &no).await.unwrap();
    let second = play.plan().await;
    assert_eq!(second.risks, ["sums of others change"]);
    let late = Approve { plan: first.hash, ..Approve::default() };
    let refused = house.client.approve(&play.id, &late).await;
    assert!(refused.is_err(), "a plan that nobody waits for cannot be approved");
    let yes = Approve { plan: second.hash, ..Approve::default() };
    house.client.approve(&play.id, &yes).await.unwrap();
    play.land().await;
    assert!(play.transcript().await.contains("Please name the risk."));
}

pub(crate) async fn a_plan_that_nobody_reads_in_time_pauses_and_goes_on_when_somebody_does(
    house: &House,
) {
    let repository = Repository::make(&house.repositories(), "timeout");
    let mut play = Play::begin_as(house, repository, &wish("hasty", "Mend the sum.")).await;
    let Plan { hash, .. } = play.plan().await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "approval_timeout", "{failure:#?}");
    assert_eq!(play.task().await.state, "paused");
    nothing_of_it_runs(house, &play.id).await;
    house.client.resume_task(&play.id).await.unwrap();
    play.until("that it goes on", |event| matches!(event, TaskEvent::Resumed { .. }).then_some(()))
        .await;
    // The plan waits again, or for the second time in vain: a person may say yes in both cases.
    let yes = Approve { plan: hash, ..Approve::default() };
    house.client.approve(&play.id, &yes).await.unwrap();
    play.until_approved().await;
    play.land().await;
}

/// A task that waits for a person costs nothing.
async fn nothing_of_it_runs(house: &House, task: &str) {
    house
        .soon("the sandbox rests", async || {
            let all = house.client.sandboxes().await.unwrap();
            let own = |owner: &Owner| matches!(owner, Owner::Task(id) if id == task);
            let mut own = all.iter().filter(|it| own(&it.owner)).peekable();
            // It is put to sleep, not thrown away: what it had done is still there.
            own.peek().is_some() && own.all(|it| matches!(it.state, State::Resting))
        })
        .await;
}

pub(crate) async fn a_task_that_is_paused_in_the_middle_rests_and_goes_on_where_it_was(
    house: &House,
) {
    let repository = Repository::make(&house.repositories(), "paused");
    // The words stand in two pieces, and the sum is the shell's: the request itself says neither.
    let request = "Mend the sum.\n#implement\nif grep -q 'you may'' go' \"$HEARD\"; then sed -i 's/a - b/a + b/' sum.py; \
        else echo begun > BEGUN; echo $((40 + 2)) never ends; tail -f /dev/null; fi\n";
    let mut play = Play::begin(house, repository, request).await;
    play.approve().await;
    play.until_said("42 never ends").await;
    house.client.pause_task(&play.id).await.unwrap();
    play.until("that it is paused", |event| {
        matches!(event, TaskEvent::Paused { why: PauseReason::Asked { .. } }).then_some(())
    })
    .await;
    nothing_of_it_runs(house, &play.id).await;
    let words = SendMessage { text: "Now you may go on.".to_owned() };
    house.client.message(&play.id, &words).await.unwrap();
    assert_eq!(play.task().await.state, "paused", "words alone do not start it");
    house.client.resume_task(&play.id).await.unwrap();
    play.land().await;
    assert_eq!(play.repository.git(&["show", "main:BEGUN"]), "begun", "what it had done is kept");
}

pub(crate) async fn a_task_that_is_cancelled_in_the_middle_leaves_nothing(house: &House) {
    let repository = Repository::make(&house.repositories(), "cancelled");
    let request = "Mend the sum.\n#implement\necho $((40 + 2)) never ends\ntail -f /dev/null\n";
    let mut play = Play::begin(house, repository, request).await;
    play.approve().await;
    play.until_said("42 never ends").await;
    play.cancel().await;
    assert_eq!(play.task().await.state, "cancelled");
    assert!(play.repository.branches().is_empty());
    assert!(house.client.pulls(&play.repository.name).await.unwrap().is_empty());
}
