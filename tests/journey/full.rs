//! The longest way that a task goes: a question, a plan that is sent back, a check that fails, a comment on the pull request; with a model that is paid.
//!
//! ```text
//!  question ──▶ answer ──▶ plan ──▶ sent back ──▶ plan ──▶ yes ──▶ wrong ──▶ red ──▶ right ──▶ pull request ──▶ comment ──▶ more ──▶ merged
//!     └─ SIGKILL and `lamp up` at every event; and once more while the model answers ─┘
//! ```
//!
//! It is played once undisturbed, and once killed at each of its events: the same came of it, and whatever the model was asked is paid for.

use testkit::model::{Asked, Script, Seen, Usage};
use wire::{
    pull::{MergePull, NewComment},
    task::{
        ask::{AnswerQuestion, Approve, Reject},
        event::TaskEvent,
        transcript::PageQuery,
        usage::Spent,
    },
};

use crate::{
    evening::no_sandbox_is_left,
    house::{Ground, House},
    play::{Play, wish},
    repository::Repository,
};

/// A full journey has at least so many events; fewer would mean that something was left out.
const LEAST: usize = 30;

/// When the server is killed, at each event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Never,
    /// As soon as the event is seen.
    AtOnce,
    /// When the step after it asks the model, or something else happens.
    WhileTheModelIsAsked,
}

/// What a journey came to.
struct Outcome {
    /// What happened, without what is said of money.
    kinds: Vec<String>,
    spent: Spent,
    /// What the model says that was used.
    told: Usage,
    requests: u64,
}

pub(crate) fn it_comes_to_the_same_and_is_paid_for(moment: Moment) {
    let house = House::build(Ground::Sqlite);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let calm = journey(&house, Moment::Never).await;
        let killed = journey(&house, moment).await;
        assert!(calm.kinds.len() >= LEAST, "is it the whole journey? {:#?}", calm.kinds);
        assert_eq!(calm.kinds, killed.kinds, "the same happens, in the same order");
        // Undisturbed, exactly what the model told is paid.
        assert_eq!(paid(&calm.spent), owed(&calm.told));
        // A request that was cut off is made again, and paid by what was sent; none is free, and none that was told counts twice.
        let each = calm.spent.money.micros / calm.requests;
        assert!(each > 0, "{:#?}", calm.spent);
        let (spent, requests) = (&killed.spent, killed.requests);
        assert!(spent.money.micros >= requests * each, "{requests} requests for {spent:#?}");
        let (paid, owed) = (paid(spent), owed(&killed.told));
        assert!(paid.0 <= owed.0 && paid.1 <= owed.1, "{paid:?} for {owed:?}");
        assert!(requests >= calm.requests);
        // Where none had to be made again, not a cent more is paid.
        let again = requests - calm.requests;
        assert!(again > 0 || spent.money.micros == calm.spent.money.micros, "{spent:#?}");
        no_sandbox_is_left(&house).await;
    });
    house.close();
}

/// Tokens in and out.
fn paid(spent: &Spent) -> (u64, u64) {
    (spent.input_tokens, spent.output_tokens)
}

fn owed(told: &Usage) -> (u64, u64) {
    (told.input + told.cached, told.output)
}

async fn journey(house: &House, moment: Moment) -> Outcome {
    let name = format!("full-{moment:?}").to_lowercase();
    let request = format!("The sum is wrong, says the {name} scene.");
    tell_the_story(house, &request);
    house.model.reset();
    let repository = Repository::make(&house.repositories(), &name);
    let mut play = Play::begin_as(house, repository, &wish("builtin", &request)).await;
    let (mut asked, mut woken) = (0, None);
    loop {
        let Some(recorded) = play.next().await else { break };
        let event = recorded.event.clone();
        if matches!(event, TaskEvent::Woken { .. }) {
            woken = Some(house.model.requests().len());
        }
        match moment {
            Moment::Never => {}
            Moment::AtOnce => restart(house),
            Moment::WhileTheModelIsAsked => {
                the_model_is_asked(&play, asked).await;
                restart(house);
            }
        }
        asked = house.model.requests().len();
        decide(&play, &event).await;
    }
    ended_well(&play).await;
    if moment == Moment::Never {
        // Whoever is woken by a comment goes on in the session that did the work: the model is shown what it was told then.
        let since = house.model.requests().split_off(woken.unwrap());
        let knows =
            |it: &Seen| it.remembered.iter().any(|said| said.contains("# Phase: implement"));
        assert!(since.iter().any(knows), "it remembers nothing: {since:#?}");
    }
    let kind = |event: &TaskEvent| {
        let told = serde_json::to_value(event).unwrap();
        told["kind"].as_str().unwrap().to_owned()
    };
    let events = play.events.iter().map(|recorded| &recorded.event);
    let events = events.filter(|event| !matches!(event, TaskEvent::Charged { .. }));
    Outcome {
        kinds: events.map(kind).collect(),
        spent: house.client.task_usage(&play.id).await.unwrap().total,
        told: house.model.used().into_values().fold(Usage::default(), |mut all, one| {
            all += one;
            all
        }),
        requests: house.model.requests().len() as u64,
    }
}

fn restart(house: &House) {
    house.kill();
    house.up();
}

/// Waits until the model is asked once more, or something else has happened.
async fn the_model_is_asked(play: &Play<'_>, before: usize) {
    let seen = play.events.len() as u64;
    let house = play.house;
    house
        .soon("the model is asked, or something happens", async || {
            let task = play.task().await;
            let waits = task.standing != wire::task::shown::Standing::Works;
            house.model.requests().len() > before || task.events > seen || waits
        })
        .await;
}

/// What people do about an event.
async fn decide(play: &Play<'_>, event: &TaskEvent) {
    let (client, id, name) = (&play.house.client, &play.id, &play.repository.name);
    let times = |wanted: fn(&TaskEvent) -> bool| play.count(wanted);
    if let TaskEvent::QuestionAsked { question, .. } = event {
        let text = "Take the second one.".to_owned();
        let wish = AnswerQuestion { question: Some(question.id.clone()), text };
        client.answer(id, &wish).await.unwrap();
    }
    if let TaskEvent::PlanSubmitted { plan, .. } = event {
        if times(|event| matches!(event, TaskEvent::PlanSubmitted { .. })) == 1 {
            let comment = "Please name the risk.".to_owned();
            client.reject(id, &Reject { plan: plan.hash.clone(), comment }).await.unwrap();
        } else {
            let yes = Approve { plan: plan.hash.clone(), ..Approve::default() };
            client.approve(id, &yes).await.unwrap();
        }
    }
    if let TaskEvent::PullRequestOpened { number, .. } = event {
        let pull = client.pull(name, *number).await.unwrap();
        if times(|event| matches!(event, TaskEvent::PullRequestOpened { .. })) == 1 {
            let text = "Say hello as well.".to_owned();
            let comment = NewComment { text, ..NewComment::default() };
            client.comment_on_pull(name, *number, &comment).await.unwrap();
        } else {
            let merge = MergePull { head: pull.delivered, base: pull.base };
            client.merge_pull(name, *number, &merge).await.unwrap();
        }
    }
}

async fn ended_well(play: &Play<'_>) {
    let client = &play.house.client;
    assert_eq!(play.task().await.done_because.as_deref(), Some("merged"), "{play}");
    assert!(play.repository.is_mended(), "{play}");
    assert_eq!(play.repository.git(&["show", "main:HELLO"]), "hello");
    let pulls = client.pulls(&play.repository.name).await.unwrap();
    assert_eq!((pulls.len(), play.repository.branches().len()), (1, 1), "{pulls:#?} {play}");
    // What was seen live is what is kept: no event is lost, none is there twice.
    let query = PageQuery { after: None, limit: Some(500) };
    let kept = client.task_events(&play.id, query).await.unwrap();
    assert!(!kept.more);
    assert_eq!(kept.events, play.events, "{play}");
    for (event, times) in
        [("question_asked", 1), ("rejected", 1), ("checks_failed", 1), ("woken", 1)]
    {
        let told = |it: &TaskEvent| serde_json::to_value(it).unwrap()["kind"] == event;
        assert_eq!(play.count(told), times, "{event}: {play}");
    }
    play.house.told_last(&play.id, "Merged. The task is done.").await;
}

/// What the model does in each phase, by what it was told so far.
fn tell_the_story(house: &House, request: &str) {
    let plan = |risks: &str| {
        format!(
            "```lamp-answer\n{{\"plan\": {{\"summary\": \"Add instead of subtracting\", \
             \"files\": [{{\"path\": \"sum.py\", \"why\": \"it subtracts\"}}], \"tests\": [], \
             \"expected_behaviour\": \"add(2, 3) is 5\", \"commands\": [\"make test\"], \"hosts\": [], \
             \"risks\": [{risks}]}}}}\n```"
        )
    };
    let question = "```lamp-answer\n{\"question\": {\"text\": \"Which of them?\", \"choices\": [\"the first one\", \"the second one\"]}}\n```";
    let review = "Nothing is wrong.\n\n```lamp-answer\n{\"review\": {\"findings\": []}}\n```";
    // The same again changes nothing more, so that a run that is repeated comes to the same.
    let sum = |is: &str| Script::new().shell(&format!("sed -i 's/return .*/return {is}/' sum.py"));
    let stories = [
        ("# Phase: research", "", Script::new().read("sum.py").text("It subtracts.")),
        ("# Phase: plan", "name the risk", Script::new().text(&plan("\"sums of others change\""))),
        ("# Phase: plan", "the second one", Script::new().read("sum.py").text(&plan(""))),
        ("# Phase: plan", "", Script::new().text(question)),
        (
            "# Phase: implement",
            "Say hello",
            Script::new().shell("echo hello > HELLO").text("Said."),
        ),
        ("# Phase: implement", "What was found in your work", sum("a + b").text("Mended.")),
        ("# Phase: implement", "", sum("a + b + 1").text("Done.")),
        ("# Phase: review", "", Script::new().read("sum.py").text(review)),
    ];
    for (phase, heard, script) in stories {
        let request = request.to_owned();
        let holds = move |asked: &Asked<'_>| {
            [phase, heard, &request].iter().all(|words| asked.text.contains(words))
        };
        house.model.when(holds, script);
    }
}
