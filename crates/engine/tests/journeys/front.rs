//! What doors ask of the engine beside commands: what a wish becomes, what a task may spend, and where a line is from.

use contracts::{
    forge::ForgeError,
    order::{OrderError, Wish, WishedRepository},
};
use domain::{
    money::Money,
    request::ChannelKind,
    task::{Ask, Event, Refusal},
};
use engine::{Approved, Front, Line, SubmitError};
use testkit::{ann, bob};

use crate::fixture::{Fixture, is_over};

fn wish(repository: &str) -> Wish {
    let (name, url) = (repository.parse().unwrap(), "file:///web".to_owned());
    Wish {
        by: ann(),
        door: ChannelKind::Cli,
        text: "fix it".to_owned(),
        repositories: vec![WishedRepository { name, url, revision: None, access: None }],
        agent: None,
        model: None,
        attempts: None,
        budget: Some(Money::from_dollars(3)),
    }
}

#[tokio::test]
async fn a_change_that_could_not_be_delivered_is_not_ordered() {
    let fixture = Fixture::new().await;
    let front: &dyn Front = &fixture.engine;
    let order = front.order(&wish("acme/web")).await.unwrap();
    assert_eq!(order.limits.budget, Money::from_dollars(3));
    let refused = front.order(&wish("detached/web")).await.unwrap_err();
    let (repository, reason) = ("detached/web".parse().unwrap(), "it is on no branch".to_owned());
    let error = ForgeError::Rejected { reason };
    assert_eq!(refused, OrderError::NoBranch { repository, error });
}

#[tokio::test]
async fn a_budget_grows_to_what_the_policy_allows_and_who_wants_more_is_written_down() {
    let fixture = Fixture::new().await;
    let front: &dyn Front = &fixture.engine;
    let task = fixture.submit("fix it").await;
    let most = Money::from_dollars(20);
    fixture.ledger.set("policy", "budget", &most.as_micros().to_string()).unwrap();
    let raise = |to| front.ask(task, bob(), Ask::RaiseBudget { to });
    let to = Money::from_dollars(21);
    let refused = raise(to).await.unwrap_err();
    let expected = Refusal::BudgetTooLarge { to, most };
    assert!(matches!(&refused, SubmitError::Refused(it) if *it == expected), "{refused}");
    let rows = fixture.store().audit_log(0).await.unwrap();
    let is_told = rows.iter().any(|row| {
        row.entry.action == "refused" && row.entry.detail.contains(&expected.to_string())
    });
    assert!(is_told, "{rows:?}");
    assert_eq!(fixture.ledger.read("allowed", &task.to_string()), None, "nothing is allowed yet");
    assert_eq!(raise(most).await.unwrap().budget(), most);
    let allowed = fixture.ledger.read("allowed", &task.to_string());
    assert_eq!(allowed, Some(most.as_micros().to_string()), "what works now may spend it now");
}

fn line() -> Line {
    let (repository, path) = ("acme/web".parse().unwrap(), "src/login.rs".to_owned());
    Line { repository, path, number: 7 }
}

#[tokio::test]
async fn a_line_leads_to_request_plan_approval_and_the_words_of_the_run_that_made_it() {
    let fixture = Fixture::new().await;
    // Two rounds of work, each reviewed.
    let task = fixture.submit("faults 1").await;
    fixture.play_until(task, is_over).await;
    let why = Front::why(&fixture.engine, &line()).await.unwrap();
    assert_eq!(why.text, "line 7 of src/login.rs");
    let history = fixture.store().history(task).await.unwrap();
    let approved = history.events.iter().find(|it| matches!(it.event, Event::Approved { .. }));
    let approved = approved.unwrap();
    let Event::Approved { plan, by, .. } = approved.event else { unreachable!() };
    let told = why.origin.unwrap();
    assert_eq!((told.task, told.title.as_str()), (task, "faults 1"));
    assert_eq!(told.requester, ann().id);
    assert_eq!(told.plan.as_ref().unwrap().hash, plan);
    assert_eq!(told.plan.unwrap().of_file.unwrap(), "the race is here");
    assert_eq!(told.approved, Some(Approved { by, at: approved.at }));
    assert_eq!(told.reasoning, ["Implement as the script says"], "not those of the reviewer");
}

#[tokio::test]
async fn a_note_that_anybody_wrote_makes_no_line_a_tasks() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix it").await;
    fixture.play_until(task, is_over).await;
    let [noted] = fixture.ledger.names("note").unwrap().try_into().unwrap();
    let note = fixture.ledger.read("note", &noted).unwrap();
    // Another commit has the same note now. It is the first by name, so lines are from it.
    fixture.ledger.set("note", &"0".repeat(40), &note).unwrap();
    let why = Front::why(&fixture.engine, &line()).await.unwrap();
    assert_eq!((why.commit.as_str(), why.origin), ("0".repeat(40).as_str(), None));
}
