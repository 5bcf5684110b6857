//! Compaction: what stays, what goes, and that it always fits.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::conversation::{Call, CallResult, End, Said, Thought};

fn step_of(id: usize, calls: usize, size: usize) -> Vec<Entry> {
    let calls: Vec<Call> = (0..calls)
        .map(|at| Call {
            id: format!("c{id}-{at}"),
            name: "shell".to_owned(),
            arguments: Arguments::Object(json!({ "command": "x".repeat(size / 2) })),
            signature: None,
        })
        .collect();
    let results = calls.iter().map(|call| CallResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: "y".repeat(size),
        end: End::Done,
    });
    let results = Entry::Results(results.collect());
    let has_calls = !calls.is_empty();
    let thoughts =
        vec![Thought::Signed { text: "t".repeat(size / 4), signature: "s".repeat(size / 4) }];
    let said = Entry::Assistant(Said { thoughts, text: format!("step {id}"), calls });
    if has_calls { vec![said, results] } else { vec![said] }
}

fn conversation() -> impl Strategy<Value = Vec<Entry>> {
    let step = (0_usize..5, 0_usize..20_000, any::<bool>());
    (0_usize..60_000, proptest::collection::vec(step, 0..40)).prop_map(|(first, all)| {
        let mut entries = vec![Entry::User(format!("fix it{}", "z".repeat(first)))];
        for (id, (calls, size, is_prompt)) in all.into_iter().enumerate() {
            if is_prompt {
                entries.push(Entry::User("w".repeat(size)));
            }
            entries.extend(step_of(id, calls, size));
        }
        entries
    })
}

/// Every result follows its call, and every call has its result.
fn assert_pairs_are_whole(entries: &[Entry]) {
    for (at, entry) in entries.iter().enumerate() {
        match entry {
            Entry::User(_) | Entry::Summary(_) => {}
            Entry::Assistant(said) => {
                let next = entries.get(at + 1);
                let wanted: Vec<&String> = said.calls.iter().map(|call| &call.id).collect();
                let given: Vec<&String> = match next {
                    Some(Entry::Results(results)) => results.iter().map(|it| &it.id).collect(),
                    Some(Entry::User(_) | Entry::Summary(_) | Entry::Assistant(_)) | None => vec![],
                };
                assert_eq!(wanted, given);
            }
            Entry::Results(_) => {
                assert!(at > 0 && matches!(&entries[at - 1], Entry::Assistant(_)), "a lone result");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn what_comes_out_fits_and_is_whole(entries in conversation(), room in 1000_u64..100_000) {
        let split = Split::new(&entries, room);
        let record = split.record(room / 2);
        prop_assert!(record.len() <= bytes_of(room / 2) + 50);
        let shorter = split.join(&"summary ".repeat(10_000), room);
        assert_pairs_are_whole(&shorter);
        let Entry::User(first) = &shorter[0] else { panic!("the first message is gone") };
        prop_assert!(first.starts_with("fix it"));
        let size = tokens(&shorter);
        prop_assert!(size <= room * 8 / 10 + 600, "{size} of {room}");
        // Again: nothing grows, and what is whole stays whole.
        let again = Split::new(&shorter, room).join("short", room);
        assert_pairs_are_whole(&again);
        prop_assert!(tokens(&again) <= size + 100);
    }
}

#[test]
fn a_short_conversation_stays_as_it_is() {
    let entries: Vec<Entry> =
        std::iter::once(Entry::User("fix".to_owned())).chain(step_of(1, 1, 10)).collect();
    let split = Split::new(&entries, 10_000);
    assert!(split.older.is_empty());
    assert_eq!(split.join("unused", 10_000), entries);
}

#[test]
fn the_last_steps_stay_and_the_older_become_a_summary() {
    let mut entries = vec![Entry::User("fix".to_owned())];
    for id in 0..20 {
        entries.extend(step_of(id, 1, 600));
    }
    let split = Split::new(&entries, 4000);
    assert!(split.record(1000).contains("PERSON: fix"));
    let shorter = split.join("they looked around", 4000);
    assert_eq!(shorter[0], entries[0]);
    let Entry::Summary(summary) = &shorter[1] else { panic!("{shorter:?}") };
    assert!(summary.ends_with("they looked around"));
    assert_eq!(shorter.last(), entries.last());
    assert_pairs_are_whole(&shorter);
}
