//! What agents say is kept: in order, once, without secrets, within limits, and until the last word (AG3, CX3, OB4).

use std::{sync::Arc, time::Duration};

use contracts::{agent::AgentEvent, clock::Clock as _};
use domain::{
    cost::Cost,
    id::TaskId,
    task::{Ask, Stage, Task},
    time::Timestamp,
    transcript::{Ending, ToolCall, ToolKind, ToolStatus},
};
use engine::{Cleaner, Redactor, Settings};
use secrets::redact::{MARK, Redactions};
use store::{OpenOptions, Said};
use testkit::{
    ann,
    clock::{AnyClock, ManualClock},
    postgres::Postgres,
    world::World,
};
use tokio_util::sync::CancellationToken;

use crate::{
    fixture::{Fixture, is_over},
    talker::{Pause, TalkingWorld},
};

fn waits_for_approval(task: &Task) -> bool {
    matches!(task.stage, Stage::AwaitingApproval { .. })
}

fn message(number: u32, text: impl Into<String>) -> AgentEvent {
    AgentEvent::Message { number, text: text.into() }
}

fn stopped(reason: &str) -> AgentEvent {
    AgentEvent::Finished { ending: Ending::Stopped { reason: reason.to_owned() } }
}

const ANSWERED: AgentEvent = AgentEvent::Finished { ending: Ending::Answered };

fn speech() -> Vec<AgentEvent> {
    let call = |status, result: Option<&str>| {
        AgentEvent::ToolCall(ToolCall {
            id: "1".to_owned(),
            title: "ls".to_owned(),
            kind: ToolKind::Execute,
            status,
            input: None,
            result: result.map(str::to_owned),
            paths: vec!["src".to_owned()],
        })
    };
    vec![
        AgentEvent::Briefed { part: 1, text: "Find ".to_owned() },
        AgentEvent::Briefed { part: 1, text: "the race.".to_owned() },
        AgentEvent::Started {
            program: "talker".to_owned(),
            version: None,
            model: None,
            session: None,
        },
        AgentEvent::Thought { number: 1, text: "hm".to_owned() },
        message(1, "I look "),
        message(1, "around."),
        call(ToolStatus::Running, None),
        call(ToolStatus::Done, Some("login.rs")),
        AgentEvent::Usage(Cost::ZERO),
        message(2, "Found it."),
    ]
}

impl Fixture {
    async fn transcript(&self, task: TaskId) -> Vec<Said> {
        let mut said: Vec<Said> = Vec::new();
        loop {
            let cursor = said.last().map_or(0, |last| last.number);
            let more = self.store().transcript_after(task, cursor, 1_000).await.unwrap();
            if more.is_empty() {
                return said;
            }
            said.extend(more);
        }
    }

    /// What the attempt with this number said.
    async fn attempt(&self, task: TaskId, attempt: u64) -> Vec<AgentEvent> {
        let said = self.transcript(task).await;
        said.into_iter().filter(|it| it.attempt == attempt).map(|it| it.event).collect()
    }

    /// Waits until so many events are kept.
    async fn keeps(&self, task: TaskId, count: usize) -> Vec<Said> {
        for _ in 0..1_500 {
            let said = self.transcript(task).await;
            if said.len() >= count {
                return said;
            }
            self.settle().await;
        }
        panic!("only {:?} was kept", self.transcript(task).await);
    }
}

#[tokio::test]
async fn what_an_agent_says_is_kept_in_order_and_read_again_from_any_number() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix it").await;
    let world = TalkingWorld::new(
        &fixture,
        AnyClock::System,
        || Box::new(speech().into_iter()),
        Pause::Never,
    );
    let running = world.run(&fixture, World::settings("engine"));
    fixture.wait_until(task, waits_for_approval).await;
    running.stop().await;
    let said = fixture.transcript(task).await;
    let numbers: Vec<u64> = said.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (1..=said.len() as u64).collect::<Vec<_>>());
    let research = fixture.attempt(task, 1).await;
    assert_eq!(research, [speech(), vec![ANSWERED]].concat());
    let plan = fixture.attempt(task, 2).await;
    assert_eq!(plan, [message(1, "Plan as the script says"), ANSWERED]);
    // A run is the event that asked for it.
    let history = fixture.store().history(task).await.unwrap();
    let asked_for = |run: u64| history.events[usize::try_from(run).unwrap() - 1].event.kind();
    assert_eq!(asked_for(said[0].run), "prepared");
    assert_eq!(asked_for(said[said.len() - 1].run), "researched");
    for cursor in 0..said.len() {
        let rest = fixture.store().transcript_after(task, cursor as u64, 1_000).await.unwrap();
        assert_eq!(rest, said[cursor..]);
    }
    let briefing = fixture.store().briefing(task).await.unwrap().unwrap();
    assert_eq!((briefing.run, briefing.texts), (said[0].run, vec!["Find the race.".to_owned()]));
}

#[tokio::test]
async fn a_watcher_sees_the_words_while_the_agent_is_at_work() {
    let fixture = Fixture::new().await;
    let mut ear = fixture.store().subscribe_to_all();
    let task = fixture.submit("fix it").await;
    let pause = Pause::After(10);
    let world =
        TalkingWorld::new(&fixture, AnyClock::System, || Box::new(speech().into_iter()), pause);
    let running = world.run(&fixture, World::settings("engine"));
    while !matches!(ear.next().await, store::Heard::Transcript(it) if it.task == task) {}
    let said = fixture.keeps(task, 10).await;
    assert_eq!(said.into_iter().map(|it| it.event).collect::<Vec<_>>(), speech());
    world.talker.go_on();
    fixture.wait_until(task, waits_for_approval).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_loses_nothing_that_was_kept_and_the_repeat_is_told_apart() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix it").await;
    let pause = Pause::After(6);
    let world =
        TalkingWorld::new(&fixture, AnyClock::System, || Box::new(speech().into_iter()), pause);
    let settings = |name| Settings { lease: Duration::from_millis(300), ..World::settings(name) };
    // It ends with its runtime, in the middle of everything.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let engine = world.engine(&fixture, settings("first"));
    runtime.spawn(async move { engine.run(CancellationToken::new()).await });
    fixture.keeps(task, 6).await;
    runtime.shutdown_background();
    let running = world.run(&fixture, settings("second"));
    fixture.wait_until(task, waits_for_approval).await;
    running.stop().await;
    let said = fixture.transcript(task).await;
    assert_eq!(fixture.attempt(task, 1).await, speech()[..6], "and it has no end");
    assert_eq!(fixture.attempt(task, 2).await, [speech(), vec![ANSWERED]].concat());
    assert_eq!(said[0].run, said[6].run, "the same run");
    assert!(said.iter().zip(&said[1..]).all(|(one, next)| one.attempt <= next.attempt));
}

#[tokio::test]
async fn what_was_said_before_the_server_was_stopped_is_kept_and_the_next_goes_on() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix it").await;
    let clock = ManualClock::starting_at(Timestamp::from_millis(1_000));
    let pause = Pause::After(7);
    let manual = AnyClock::Manual(clock);
    let world = TalkingWorld::new(&fixture, manual, || Box::new(speech().into_iter()), pause);
    let running = world.run(&fixture, World::settings("engine"));
    world.talker.has_said(7).await;
    assert_eq!(fixture.transcript(task).await, [], "no time has passed: nothing had to be written");
    running.stop().await;
    let first = [speech()[..7].to_vec(), vec![stopped("the server was stopped")]].concat();
    assert_eq!(fixture.attempt(task, 1).await, first);
    let running = world.run(&fixture, World::settings("engine"));
    fixture.wait_until(task, waits_for_approval).await;
    running.stop().await;
    assert_eq!(fixture.attempt(task, 2).await, [speech(), vec![ANSWERED]].concat());
}

#[tokio::test]
async fn the_transcript_of_a_cancelled_run_ends_with_what_was_said() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix it").await;
    let clock = ManualClock::starting_at(Timestamp::from_millis(1_000));
    let pause = Pause::After(9);
    let manual = AnyClock::Manual(clock);
    let world = TalkingWorld::new(&fixture, manual, || Box::new(speech().into_iter()), pause);
    let running = world.run(&fixture, World::settings("engine"));
    world.talker.has_said(9).await;
    fixture.engine.ask(task, ann(), Ask::Cancel).await.unwrap();
    fixture.wait_until(task, is_over).await;
    running.stop().await;
    let said = fixture.attempt(task, 1).await;
    assert_eq!(
        said,
        [speech()[..9].to_vec(), vec![stopped("the task went on without it")]].concat()
    );
}

#[tokio::test]
async fn an_agent_that_stops_by_itself_ends_its_transcript_with_the_reason() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("broken").await;
    fixture.play_until(task, is_over).await;
    let said = fixture.attempt(task, 1).await;
    let end = stopped("the agent stopped: the script says so");
    assert_eq!(said, [message(1, "Research as the script says"), end]);
}

#[tokio::test]
async fn a_question_ends_the_transcript_as_one() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("question").await;
    let running = fixture.run();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingAnswer { .. })).await;
    running.stop().await;
    let said = fixture.attempt(task, 1).await;
    assert_eq!(said.last(), Some(&AgentEvent::Finished { ending: Ending::Asked }));
}

fn babble() -> Vec<AgentEvent> {
    vec![message(1, "done"), stopped("enough"), message(2, "still here"), ANSWERED]
}

/// An agent whose program goes on after its end has nothing more to tell.
#[tokio::test]
async fn nothing_counts_after_the_end() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix it").await;
    let speech = || Box::new(babble().into_iter()) as Box<dyn Iterator<Item = _> + Send>;
    let world = TalkingWorld::new(&fixture, AnyClock::System, speech, Pause::Never);
    let running = world.run(&fixture, World::settings("engine"));
    fixture.wait_until(task, waits_for_approval).await;
    running.stop().await;
    assert_eq!(fixture.attempt(task, 1).await, babble()[..2]);
}

const VALUE: &str = "s3cr3t-value-0123456789";

#[derive(Debug)]
struct Known(Arc<Redactions>);

struct InParts(secrets::redact::Redactor);

impl Redactor for Known {
    fn clean(&self, text: &str) -> String {
        self.0.text(text).into_owned()
    }

    fn parts(&self) -> Box<dyn Cleaner> {
        Box::new(InParts(secrets::redact::Redactor::new(Arc::clone(&self.0))))
    }
}

impl Cleaner for InParts {
    fn feed(&mut self, part: &str) -> String {
        String::from_utf8(self.0.feed(part.as_bytes())).unwrap()
    }

    fn release(&mut self) -> String {
        String::from_utf8(self.0.release()).unwrap()
    }

    fn finish(&mut self) -> String {
        String::from_utf8(self.0.finish()).unwrap()
    }
}

fn without_secrets() -> Settings {
    let redactor = Arc::new(Known(Arc::new(Redactions::new([VALUE]).unwrap())));
    Settings { redactor, ..World::settings("engine") }
}

#[tokio::test]
async fn a_secret_in_two_parts_of_a_message_is_not_kept() {
    let fixture = Fixture::new().await;
    // The scripted agent repeats the request in its notes and in its plan.
    let task = fixture.submit(&format!("fix {VALUE}")).await;
    let words = || {
        let (first, second) = VALUE.split_at(11);
        let parts = [message(1, format!("it is {first}")), message(1, format!("{second}, see"))];
        let wrapped = AgentEvent::Trouble { text: format!("curl -H 'key: {VALUE}'") };
        Box::new(parts.into_iter().chain([wrapped])) as Box<dyn Iterator<Item = _> + Send>
    };
    let world = TalkingWorld::new(&fixture, AnyClock::System, words, Pause::Never);
    let running = world.run(&fixture, without_secrets());
    fixture.wait_until(task, waits_for_approval).await;
    running.stop().await;
    let said = fixture.transcript(task).await;
    let told = format!("{said:?}");
    assert!(!told.contains("s3cr3t") && !told.contains("0123456789"), "{told}");
    let whole: String = said
        .iter()
        .filter(|it| it.attempt == 1)
        .filter_map(|it| {
            let AgentEvent::Message { text, .. } = &it.event else { return None };
            Some(text.as_str())
        })
        .collect();
    assert_eq!(whole, format!("it is {MARK}, see"));
    for file in fixture.blob_files() {
        assert!(!String::from_utf8_lossy(&std::fs::read(file).unwrap()).contains(VALUE));
    }
    let history = fixture.store().history(task).await.unwrap();
    let after: Vec<_> = history.events[1..].iter().map(|it| &it.event).collect();
    assert!(!format!("{after:?}").contains(VALUE), "what the agent answered is clean too");
}

/// The most memory that this process has had so far.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

const FLOOD: u32 = 100_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_kept_up_to_the_limit_and_takes_no_memory() {
    let options = OpenOptions { transcript_limit: 8 * 1024 * 1024, ..OpenOptions::DEFAULT };
    let settings = Settings { lease: Duration::from_mins(1), ..World::settings("engine") };
    let fixture = Fixture::on(None, options, AnyClock::System, settings.clone()).await;
    let task = fixture.submit("fix it").await;
    let words = || {
        let flood = (1..=FLOOD).map(|number| message(number, "x".repeat(1_000)));
        Box::new(flood.chain([ANSWERED])) as Box<dyn Iterator<Item = _> + Send>
    };
    let world = TalkingWorld::new(&fixture, AnyClock::System, words, Pause::Never);
    let before = peak_mib();
    let running = world.run(&fixture, settings);
    world.talker.has_said(FLOOD as usize + 1).await;
    fixture.wait_until(task, waits_for_approval).await;
    running.stop().await;
    let grown = peak_mib() - before;
    assert!(grown < 64, "100 MB were said, and {grown} MiB were taken");
    let said = fixture.transcript(task).await;
    let (flood, rest): (Vec<&Said>, Vec<&Said>) =
        said.iter().partition(|it| matches!(it.event, AgentEvent::Message { .. }));
    assert!((7_000..7_500).contains(&flood.len()), "{} of 8 MiB", flood.len());
    let in_order =
        flood.iter().zip(1..).all(|(it, number)| it.event == message(number, "x".repeat(1_000)));
    assert!(in_order, "from the first on, without a gap");
    let AgentEvent::Trouble { text } = &rest[0].event else { panic!("{rest:?}") };
    assert!(text.contains("full (8192 KiB)"), "{text}");
    assert_eq!(rest[1..].iter().map(|it| &it.event).collect::<Vec<_>>(), [&ANSWERED, &ANSWERED]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_that_come_while_the_database_is_away_are_kept_once_when_it_is_back() {
    const HALF: u32 = 150;
    let mut server = Postgres::start().unwrap();
    let url = server.new_database("words").unwrap();
    let settings = Settings { lease: Duration::from_mins(1), ..World::settings("engine") };
    let fixture =
        Fixture::on(Some(url), OpenOptions::DEFAULT, AnyClock::System, settings.clone()).await;
    let task = fixture.submit("fix it").await;
    let words = || {
        let words = (1..=2 * HALF).map(|number| message(number, number.to_string()));
        Box::new(words) as Box<dyn Iterator<Item = _> + Send>
    };
    let world = TalkingWorld::new(&fixture, AnyClock::System, words, Pause::After(HALF as usize));
    let running = world.run(&fixture, settings);
    world.talker.has_said(HALF as usize).await;
    // It goes on while the server is gone.
    let talker = Arc::clone(&world);
    let restart = tokio::task::spawn_blocking(move || {
        talker.talker.go_on();
        server.crash_and_restart().unwrap();
        server
    });
    let _server = restart.await.unwrap();
    let soon = AnyClock::System.now() + Duration::from_millis(50);
    AnyClock::System.sleep_until(soon).await;
    fixture.wait_until(task, waits_for_approval).await;
    running.stop().await;
    let said = fixture.transcript(task).await;
    let numbers: Vec<u64> = said.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (1..=said.len() as u64).collect::<Vec<_>>());
    // Should the step have been begun anew, both attempts are whole words in order.
    let whole: Vec<AgentEvent> =
        (1..=2 * HALF).map(|number| message(number, number.to_string())).collect();
    let run = said[0].run;
    let attempts = said.iter().filter(|it| it.run == run).map(|it| it.attempt).max().unwrap();
    for attempt in 1..=attempts {
        let mut events = fixture.attempt(task, attempt).await;
        events.retain(|event| matches!(event, AgentEvent::Message { .. }));
        assert_eq!(events, whole[..events.len()], "attempt {attempt}");
    }
    assert_eq!(fixture.attempt(task, attempts).await, [whole, vec![ANSWERED]].concat());
}
