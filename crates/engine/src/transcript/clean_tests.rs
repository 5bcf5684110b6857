//! No value of a secret is kept, however it is cut into parts.

use domain::transcript::{Ending, TodoItem, TodoState, ToolCall, ToolKind, ToolStatus, Verdict};
use proptest::prelude::*;
use secrets::redact::{MARK, Redactions};

use super::*;

const VALUE: &str = "s3cr3t-value-0123456789";

/// The secrets' room, as the program plugs it in.
#[derive(Debug)]
struct Known(Arc<Redactions>);

struct InParts(secrets::redact::Redactor);

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

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
        text(self.0.feed(part.as_bytes()))
    }

    fn release(&mut self) -> String {
        text(self.0.release())
    }

    fn finish(&mut self) -> String {
        text(self.0.finish())
    }
}

fn known() -> Arc<dyn Redactor> {
    Arc::new(Known(Arc::new(Redactions::new([VALUE]).unwrap())))
}

fn message(number: u32, text: &str) -> AgentEvent {
    AgentEvent::Message { number, text: text.to_owned() }
}

fn thought(number: u32, text: &str) -> AgentEvent {
    AgentEvent::Thought { number, text: text.to_owned() }
}

/// What is kept of `events`.
fn kept(events: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let mut clean = Clean::new(known());
    let mut kept: Vec<AgentEvent> = events.into_iter().flat_map(|it| clean.feed(it)).collect();
    kept.extend(clean.finish());
    kept
}

/// The message `wanted`, put together.
fn whole(events: &[AgentEvent], wanted: u32) -> String {
    let parts = events.iter().filter_map(|event| {
        let AgentEvent::Message { number, text } = event else { return None };
        (*number == wanted).then_some(text.as_str())
    });
    parts.collect()
}

#[test]
fn a_value_in_two_parts_of_a_message_is_removed() {
    for cut in 1..VALUE.len() {
        let (first, second) = VALUE.split_at(cut);
        let events = vec![message(1, &format!("the key is {first}")), message(1, second)];
        assert_eq!(whole(&kept(events), 1), format!("the key is {MARK}"), "cut at {cut}");
    }
}

#[test]
fn what_happens_between_two_parts_does_not_let_a_value_through() {
    let (first, second) = VALUE.split_at(9);
    let usage = || AgentEvent::Usage(domain::cost::Cost::ZERO);
    let call = AgentEvent::FileChanged { path: "a".to_owned() };
    let events = vec![message(1, first), usage(), thought(1, "hm"), call, message(1, second)];
    let kept = kept(events);
    assert_eq!(whole(&kept, 1), MARK);
    assert!(kept.contains(&thought(1, "hm")) && kept.contains(&usage()), "{kept:?}");
}

#[test]
fn the_end_of_a_message_is_not_lost_when_the_next_begins() {
    let events = vec![message(1, "it is s3cr3t"), message(2, "really"), message(3, "s3")];
    let kept = kept(events);
    let told = [message(1, "it is "), message(1, "s3cr3t"), message(2, "really"), message(3, "s3")];
    assert_eq!(kept, told, "and stands before it");
}

/// A briefing's parts may be numbered one after the other, or all alike.
#[test]
fn a_value_in_two_parts_of_a_briefing_is_removed_and_nothing_of_it_comes_late() {
    let briefed = |part, text: &str| AgentEvent::Briefed { part, text: text.to_owned() };
    let (first, second) = VALUE.split_at(9);
    for next in [1, 2] {
        let start = message(1, "hello");
        let events = vec![briefed(1, first), briefed(next, second), briefed(next, " s"), start];
        let told =
            [briefed(next, MARK), briefed(next, " "), briefed(next, "s"), message(1, "hello")];
        assert_eq!(kept(events), told);
    }
}

#[test]
fn a_watcher_sees_the_end_of_a_message_and_still_no_value() {
    let mut clean = Clean::new(known());
    assert_eq!(clean.feed(message(1, "run the tests")), [message(1, "run the test")]);
    assert_eq!(clean.release(), [message(1, "s")]);
    assert_eq!(clean.release(), []);
    let mut told: Vec<AgentEvent> = clean.feed(message(1, &VALUE[1..]));
    told.extend(clean.finish());
    assert_eq!(whole(&told, 1), MARK, "the rest of it");
    assert_eq!(clean.feed(message(2, &VALUE[..9])), []);
    assert_eq!(clean.release(), [], "that would tell something");
}

#[test]
fn the_last_event_comes_after_what_was_held_back() {
    let end = || AgentEvent::Finished { ending: Ending::Answered };
    assert_eq!(kept(vec![message(1, "s3cr3t-"), end()]), [message(1, "s3cr3t-"), end()]);
}

#[test]
fn a_long_message_is_kept_in_parts_and_nothing_of_it_is_lost() {
    let long = "å".repeat(LIMIT);
    let kept = kept(vec![message(1, &long)]);
    assert!(kept.len() >= 2);
    assert_eq!(whole(&kept, 1), long);
    assert!(kept.iter().all(|event| event.clone().bounded() == *event), "within its limit");
}

#[test]
fn every_text_of_every_event_is_cleaned() {
    let v = || format!("<{VALUE}>");
    let call = ToolCall {
        id: v(),
        title: v(),
        kind: ToolKind::Execute,
        status: ToolStatus::Done,
        input: Some(v()),
        result: Some(v()),
        paths: vec![v(), v()],
    };
    let items = vec![TodoItem { text: v(), state: TodoState::Doing }];
    let events = vec![
        AgentEvent::Briefed { part: 1, text: v() },
        AgentEvent::Started {
            program: v(),
            version: Some(v()),
            model: Some(v()),
            session: Some(v()),
        },
        AgentEvent::Message { number: 1, text: v() },
        AgentEvent::Thought { number: 1, text: v() },
        AgentEvent::ToolCall(call),
        AgentEvent::FileChanged { path: v() },
        AgentEvent::Todo { items },
        AgentEvent::Permission { title: v(), verdict: Verdict::Denied },
        AgentEvent::Question { text: v(), choices: vec![v(), v()] },
        AgentEvent::Heard { text: v() },
        AgentEvent::Trouble { text: v() },
        AgentEvent::Finished { ending: Ending::Stopped { reason: v() } },
    ];
    let told = format!("{:?}", kept(events));
    assert!(!told.contains(VALUE), "{told}");
    assert_eq!(told.matches(MARK).count(), 22, "{told}");
}

#[test]
fn a_value_where_a_long_text_is_cut_is_not_left_in_half() {
    let result = format!("{}{VALUE}{}", "x".repeat(LIMIT / 4 - 30), "y".repeat(LIMIT));
    let call = ToolCall {
        id: String::new(),
        title: String::new(),
        kind: ToolKind::Execute,
        status: ToolStatus::Done,
        input: None,
        result: Some(result),
        paths: Vec::new(),
    };
    let told = format!("{:?}", kept(vec![AgentEvent::ToolCall(call)]));
    assert!(!told.contains("s3cr"), "{told}");
}

proptest! {
    #[test]
    fn however_a_message_is_cut_it_is_cleaned_as_a_whole(
        words in proptest::collection::vec(prop_oneof![
            Just(VALUE.to_owned()), "[a-z ü3-]{0,12}", Just(VALUE[..7].to_owned())
        ], 0..6),
        cuts in proptest::collection::vec(1_usize..20, 1..8),
    ) {
        let text = words.concat();
        let mut events = Vec::new();
        let mut letters = text.chars();
        for length in cuts.iter().cycle() {
            let part: String = letters.by_ref().take(*length).collect();
            if part.is_empty() {
                break;
            }
            events.push(message(7, &part));
        }
        let told = whole(&kept(events), 7);
        prop_assert!(!told.contains(VALUE), "{}", told);
        prop_assert_eq!(told, known().clean(&text));
    }
}
