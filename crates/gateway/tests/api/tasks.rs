//! The life of a task through the API: handed over, watched, decided about, and what came of it.

use domain::{time::Timestamp, transcript::AgentEvent};
use store::Saying;
use wire::{
    error::Code,
    pull::MergePull,
    task::{
        ask::{Amend, AnswerQuestion, Approve, PickedBy, RaiseBudget, Reject, Retry, SendMessage},
        checks::Conclusion,
        event::TaskEvent,
        plan::Decision,
        shown::{Standing, TaskQuery},
        stream::Cursor,
        transcript::PageQuery,
        usage::UsageQuery,
    },
    why::WhyQuery,
};

use crate::task_fixture::{PATIENCE, TaskFixture, code, wish};

fn approval(plan: &str) -> Approve {
    Approve { plan: plan.to_owned(), ..Approve::default() }
}

#[tokio::test]
async fn a_sentence_becomes_a_merged_pull_request() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    let begun = fixture.begin("fix the flaky login test\nsoon").await;
    assert_eq!(begun.title, "fix the flaky login test");
    assert_eq!(begun.requester.name.as_deref(), Some("bob"));
    let task = begun.id.as_str();

    let waiting = fixture.wait(task, "awaiting approval").await;
    assert_eq!(waiting.standing, Standing::WaitsForPerson);
    assert_eq!(waiting.next.sentence, "the plan waits for a decision");
    let commands: Vec<&str> =
        waiting.next.commands.iter().map(|next| next.command.as_str()).collect();
    let hash = waiting.plan_waiting.clone().unwrap();
    assert_eq!(commands[1], format!("lamp approve {} {hash}", waiting.short));
    let plan = client.task_plan(task).await.unwrap();
    assert!(plan.waiting && plan.decision.is_none() && plan.plan.hash == hash);
    let inbox = client.inbox(None, None).await.unwrap();
    assert_eq!(inbox.tasks[0].id, task);
    assert_eq!(code(client.task_checks(task).await), Code::NotFound);
    assert_eq!(code(client.task_receipt(task).await), Code::NotFound);
    assert_eq!(code(client.task_diff(task).await), Code::NotFound);

    let approved = client.approve(task, &approval(&hash)).await.unwrap();
    assert_eq!(approved.plan_approved.as_deref(), Some(hash.as_str()));
    let again = client.approve(task, &approval(&hash)).await.unwrap_err();
    let problem = again.problem().unwrap();
    assert_eq!(problem.code, Code::NotNow);
    assert!(problem.help.is_some(), "{problem:?}");

    let open = fixture.wait(task, "pull request open").await;
    assert_eq!(open.branch, Some(format!("agent/{task}-fix-the-flaky-login-test-soon")));
    assert!(open.commit.is_some() && open.pull_request.is_some());
    let checks = client.task_checks(task).await.unwrap();
    assert_ne!(checks.conclusion, Conclusion::Fails);
    assert_eq!(Some(&checks.commit), open.commit.as_ref());
    assert!(client.task_review(task).await.unwrap().passed);
    assert!(client.task_receipt(task).await.unwrap().is_object());
    assert!(client.task_diff(task).await.unwrap().text.ends_with(&format!("{}\n", checks.commit)));
    assert_eq!(code(client.task_context(task).await), Code::NotFound, "no script is briefed");
    tell(&fixture, task, "Fix the flaky login test.").await;
    let told = client.task_context(task).await.unwrap();
    assert_eq!(told.texts, ["Fix the flaky login test."]);
    let usage = client.task_usage(task).await.unwrap();
    let phases: u64 = usage.phases.iter().map(|phase| phase.spent.money.micros).sum();
    assert_eq!(phases, usage.total.money.micros);
    assert!(phases > 0);

    let number = open.pull_request.unwrap();
    let pulls = client.pulls("acme/web").await.unwrap();
    assert_eq!(pulls[0].number, number);
    assert!(!client.pull_diff("acme/web", number).await.unwrap().text.is_empty());
    fixture.merge(task).await;
    let done = fixture.wait(task, "done").await;
    assert_eq!((done.standing, done.done_because.as_deref()), (Standing::Over, Some("merged")));

    let events = client.task_events(task, PageQuery::default()).await.unwrap();
    assert_eq!(events.events.len() as u64, events.next);
    assert!(matches!(events.events[0].event, TaskEvent::Requested { .. }));
    let plan = client.task_plan(task).await.unwrap();
    assert!(matches!(plan.decision, Some(Decision::Approved { .. })));
    let all = client.usage(&UsageQuery::default()).await.unwrap();
    assert_eq!((all.tasks, all.cut), (1, false));
    assert_eq!(all.spent, usage_after(&fixture, task).await);
    assert_eq!(
        (all.repositories[0].name.as_str(), all.people[0].name.as_str()),
        ("acme/web", "bob")
    );
}

/// What an agent is told before it begins.
async fn tell(fixture: &TaskFixture, task: &str, text: &str) {
    let event = AgentEvent::Briefed { part: 1, text: text.to_owned() };
    let events = vec![(Timestamp::from_millis(1), event)];
    let task = task.parse().unwrap();
    let saying = Saying { task, run: 1, speaker: 7, before: 0, events };
    fixture.store().append_transcript(saying).await.unwrap();
}

async fn usage_after(fixture: &TaskFixture, task: &str) -> wire::money::Money {
    fixture.client().task_usage(task).await.unwrap().total.money
}

#[tokio::test]
async fn events_and_transcripts_come_in_pages_without_gaps() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let task = fixture.played("fix it").await;
    let client = fixture.client();
    let whole =
        client.task_events(&task, PageQuery { limit: Some(500), after: None }).await.unwrap();
    let (mut after, mut events) = (None, Vec::new());
    loop {
        let page = client.task_events(&task, PageQuery { after, limit: Some(3) }).await.unwrap();
        after = Some(page.next);
        let more = page.more;
        events.extend(page.events);
        if !more {
            break;
        }
    }
    assert_eq!(events, whole.events);
    let rest = client.task_events(&task, PageQuery { after, limit: None }).await.unwrap();
    assert!(rest.events.is_empty() && !rest.more && Some(rest.next) == after);
    let (mut after, mut count) = (None, 0);
    loop {
        let page =
            client.task_transcript(&task, PageQuery { after, limit: Some(2) }).await.unwrap();
        for item in &page.items {
            count += 1;
            assert_eq!(item.number, count);
        }
        after = Some(page.next);
        if !page.more {
            break;
        }
    }
    assert!(count > 5);
}

#[tokio::test]
async fn a_stale_plan_is_not_approved_and_a_rejection_reaches_the_agent() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    let task = fixture.begin("fix it").await.id;
    let first = fixture.wait(&task, "awaiting approval").await.plan_waiting.unwrap();
    let another = "0".repeat(64);
    assert_eq!(code(client.approve(&task, &approval(&another)).await), Code::Stale);
    let reject = |plan: &str| Reject { plan: plan.to_owned(), comment: "smaller".to_owned() };
    assert_eq!(code(client.reject(&task, &reject(&another)).await), Code::Stale);
    assert_eq!(code(client.approve(&task, &approval("abc")).await), Code::BadRequest);
    client.reject(&task, &reject(&first)).await.unwrap();
    let again = fixture.wait(&task, "awaiting approval").await;
    let plan = client.task_plan(&task).await.unwrap();
    assert_eq!(plan.earlier, 1);
    assert!(plan.decision.is_none() && plan.waiting);
    let events = client.task_events(&task, PageQuery::default()).await.unwrap();
    let said = events
        .events
        .iter()
        .any(|it| matches!(&it.event, TaskEvent::Rejected { comment, .. } if comment == "smaller"));
    assert!(said);
    client.cancel_task(&again.id).await.unwrap();
    let twice = client.cancel_task(&again.id).await.unwrap_err();
    let message = twice.problem().unwrap().message.clone();
    assert!(message.ends_with(" was cancelled: it cannot be cancelled"), "{message}");
}

#[tokio::test]
async fn conditions_are_kept_and_odd_ones_are_refused() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    let task = fixture.begin("fix it").await.id;
    let hash = fixture.wait(&task, "awaiting approval").await.plan_waiting.unwrap();
    let with = |path: &str| {
        let mut wish = approval(&hash);
        wish.conditions.paths = Some(vec![path.to_owned()]);
        wish.conditions.budget_micros = Some(2_000_000);
        wish
    };
    for odd in ["../x", "src/*", " "] {
        assert_eq!(code(client.approve(&task, &with(odd)).await), Code::BadRequest, "{odd}");
    }
    let approved = client.approve(&task, &with("src")).await.unwrap();
    assert_eq!(approved.budget.text, "$2.00");
    let plan = client.task_plan(&task).await.unwrap();
    let Some(Decision::Approved { by, conditions, .. }) = plan.decision else { panic!() };
    assert_eq!((by.name.as_deref(), conditions), (Some("bob"), with("src").conditions));
    let raise = RaiseBudget { to_micros: 50_000_000 };
    let refused = client.raise_budget(&task, &raise).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().code, Code::NotNow);
}

#[tokio::test]
async fn a_question_is_answered_without_its_name_and_once() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    let task = fixture.begin("question").await.id;
    let asked = fixture.wait(&task, "waiting for an answer").await;
    let question = asked.question.unwrap();
    assert!(!question.text.is_empty());
    let wish = |question: Option<&str>, text: &str| AnswerQuestion {
        question: question.map(str::to_owned),
        text: text.to_owned(),
    };
    let other = "q_00000000000000000000000007";
    assert_eq!(code(client.answer(&task, &wish(Some(other), "x")).await), Code::Stale);
    assert_eq!(code(client.answer(&task, &wish(Some("q"), "x")).await), Code::BadRequest);
    assert_eq!(code(client.answer(&task, &wish(None, " ")).await), Code::BadRequest);
    client.answer(&task, &wish(None, "the first one")).await.unwrap();
    let again = client.answer(&task, &wish(None, "the second one")).await;
    assert_eq!(code(again), Code::NotNow);
    fixture.wait(&task, "awaiting approval").await;
}

#[tokio::test]
async fn a_person_steers_at_any_moment() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    let task = fixture.begin("endless").await.id;
    fixture.wait(&task, "researching").await;
    let paused = client.pause_task(&task).await.unwrap();
    assert_eq!((paused.state.as_str(), paused.phase.as_deref()), ("paused", Some("research")));
    assert_eq!(code(client.pause_task(&task).await), Code::NotNow);
    let raised = client.raise_budget(&task, &RaiseBudget { to_micros: 20_000_000 }).await.unwrap();
    assert_eq!(raised.budget.text, "$20.00");
    let small = RaiseBudget { to_micros: 1 };
    assert_eq!(code(client.raise_budget(&task, &small).await), Code::NotNow);
    assert_eq!(code(client.amend(&task, &Amend::default()).await), Code::NotNow);
    let far = Retry { from: Some("deliver".to_owned()) };
    assert_eq!(code(client.retry_task(&task, &far).await), Code::NotNow);
    let odd = Retry { from: Some("lunch".to_owned()) };
    assert_eq!(code(client.retry_task(&task, &odd).await), Code::BadRequest);
    client.retry_task(&task, &Retry::default()).await.unwrap();
    fixture.wait(&task, "researching").await;
    client.pause_task(&task).await.unwrap();
    client.resume_task(&task).await.unwrap();
    // The script's agent goes on when it is spoken to.
    let hello = SendMessage { text: "look at the session".to_owned() };
    client.message(&task, &hello).await.unwrap();
    fixture.wait(&task, "awaiting approval").await;
    let plan = client.task_plan(&task).await.unwrap().plan;
    assert_eq!(plan.summary, "endless (after 1 words of guidance)", "what was said was heard");
    let over = client.cancel_task(&task).await.unwrap();
    assert_eq!(over.state, "cancelled");
    assert_eq!(code(client.message(&task, &hello).await), Code::NotNow);
}

#[tokio::test]
async fn a_failure_says_what_to_do() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let task = fixture.begin("broken").await.id;
    let failed = fixture.wait(&task, "failed").await;
    let failure = failed.failure.unwrap();
    assert_eq!((failure.kind.as_str(), failure.phase.as_str()), ("agent_error", "research"));
    assert!(failed.next.sentence.contains(&failure.remedy));
    let list = fixture.client().tasks(&TaskQuery::default()).await.unwrap();
    assert_eq!(list.tasks[0].failure.as_deref(), Some("agent_error"));
}

#[tokio::test]
async fn what_a_role_may_not_do_is_forbidden() {
    let fixture = TaskFixture::of(testkit::ann(), PATIENCE).await;
    fixture.run();
    let client = fixture.client();
    let task = fixture.begin("fix it").await.id;
    let hash = fixture.wait(&task, "awaiting approval").await.plan_waiting.unwrap();
    let refused = client.approve(&task, &approval(&hash)).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!(problem.code, Code::Forbidden);
    assert_eq!(problem.message, "a delegator may not approve plans; ask an approver");
    let merge = MergePull { head: "a".repeat(40), base: "main".to_owned() };
    assert_eq!(code(client.merge_pull("acme/web", 1, &merge).await), Code::Forbidden);
    assert_eq!(code(client.close_pull("acme/web", 1).await), Code::Forbidden);
    client.cancel_task(&task).await.unwrap();
}

#[tokio::test]
async fn the_queue_tells_everyone_their_place() {
    let fixture = TaskFixture::new().await;
    let client = fixture.client();
    let (first, second) = (fixture.begin("one").await, fixture.begin("two").await);
    assert_eq!(first.queue.as_ref().map(|it| it.place), Some(1));
    assert_eq!(second.queue.as_ref().map(|it| it.place), Some(2));
    let queue = client.queue().await.unwrap();
    let waiting: Vec<&str> = queue.waiting.iter().map(|it| it.task.id.as_str()).collect();
    assert_eq!(waiting, [first.id.as_str(), second.id.as_str()]);
    assert_eq!(queue.places.total, 8);
}

#[tokio::test]
async fn a_line_and_the_repositories_are_asked_for() {
    let fixture = TaskFixture::new().await;
    let client = fixture.client();
    let query = |path: &str, line| WhyQuery {
        repository: "acme/web".to_owned(),
        path: path.to_owned(),
        line,
    };
    assert_eq!(client.why(&query("src/a b.rs", 3)).await.unwrap().path, "src/a b.rs");
    for (path, line) in [("../x", 1), ("/etc/passwd", 1), ("", 1), ("a", 0), ("a//b", 1)] {
        assert_eq!(code(client.why(&query(path, line)).await), Code::BadRequest, "{path}");
    }
    assert_eq!(client.repositories().await.unwrap()[0].name, "acme/web");
    assert_eq!(code(client.pull("acme/web", 7).await), Code::NotFound);
    assert_eq!(code(client.pulls("../x").await), Code::BadRequest);
}

#[tokio::test]
async fn a_task_that_is_not_there_is_not_found_anywhere() {
    let fixture = TaskFixture::new().await;
    let client = fixture.client();
    for (task, expected) in [
        ("t_00000000000000000000000007", Code::NotFound),
        ("t_0000", Code::NotFound),
        ("t_", Code::BadRequest),
        ("7", Code::BadRequest),
        ("t_0000/../../inbox", Code::BadRequest),
        ("t_00000000000000000000000007x", Code::BadRequest),
    ] {
        assert_eq!(code(client.task(task).await), expected, "{task}");
        assert_eq!(code(client.task_plan(task).await), expected, "{task}");
        assert_eq!(code(client.cancel_task(task).await), expected, "{task}");
        assert_eq!(code(client.task_checks(task).await), expected, "{task}");
        assert_eq!(code(client.pick(task, PickedBy::Person).await), expected, "{task}");
        let watched = client.watch_task(task, Cursor::default()).next().await;
        assert_eq!(code(watched), expected, "{task}");
    }
}

#[tokio::test]
async fn a_server_without_a_budget_refuses_what_costs() {
    let fixture = TaskFixture::new().await;
    let none = wire::task::new::NewTask { budget_micros: Some(0), ..wish("fix it") };
    assert_eq!(code(fixture.client().begin_task(&none, "k").await), Code::BadRequest);
    let some = wire::task::new::NewTask { budget_micros: Some(1_500_000), ..wish("fix it") };
    let begun = fixture.client().begin_task(&some, "k").await.unwrap().remove(0);
    assert_eq!(begun.budget.text, "$1.50");
}
