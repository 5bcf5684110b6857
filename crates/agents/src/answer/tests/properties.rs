//! What holds for every text and every answer.

use std::time::Duration;

use contracts::agent::Finding;
use domain::{
    money::Money,
    plan::{Estimate, FileChange, Plan},
};
use proptest::{collection::vec, option, prelude::*};

use super::*;
use crate::brief::Templates;

/// Any text that can be shown and says something.
fn words() -> impl Strategy<Value = String> {
    "[ \\t\\n]{0,2}[a-zA-Zäß日`~{}\"\\\\#>]{1,30}([ \\n]{1,2}[a-z`~]{1,8}){0,5}"
}

fn path() -> impl Strategy<Value = String> {
    "[a-z_]{1,8}(/[a-z.]{1,6}[a-z]){0,3}"
        .prop_filter("not into git", |path| path::fault(path).is_none())
}

fn plans() -> impl Strategy<Value = Answer> {
    let file = (path(), words()).prop_map(|(path, why)| FileChange { path, why });
    let estimate = (option::of(0_u64..=100_000), option::of(0_u64..=1_000_000_000_000));
    let lists =
        (vec(words(), 0..4), vec(words(), 0..4), vec("[a-z.*]{1,20}", 0..4), vec(words(), 0..4));
    (words(), vec(file, 1..5), words(), lists, estimate).prop_map(
        |(
            summary,
            files,
            expected_behaviour,
            (tests, commands, hosts, risks),
            (minutes, micros),
        )| {
            let estimate = Estimate {
                time: minutes.map(|minutes| Duration::from_secs(minutes * 60)),
                cost: micros.map(Money::from_micros),
            };
            Answer::Plan(Plan {
                summary,
                files,
                tests,
                expected_behaviour,
                commands,
                hosts,
                risks,
                estimate,
            })
        },
    )
}

fn answers() -> impl Strategy<Value = (Mode, Answer)> {
    let finding = (path(), 1_u32..=10_000_000, words(), words())
        .prop_map(|(path, line, what, failing_input)| Finding { path, line, what, failing_input });
    let modes = proptest::sample::select(vec![Mode::Research, Mode::Plan, Mode::Implement]);
    let questions = (words(), vec(words(), 0..4))
        .prop_map(|(text, choices)| Answer::Question { text, choices });
    prop_oneof![
        (modes, questions),
        words().prop_map(|notes| (Mode::Research, Answer::Notes(notes.trim().to_owned()))),
        plans().prop_map(|plan| (Mode::Plan, plan)),
        Just((Mode::Implement, Answer::Change)),
        vec(finding, 0..5).prop_map(|findings| (Mode::Review, Answer::Review(findings))),
    ]
}

/// Text that looks like what we look for.
fn nearly() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("```".to_owned()),
        Just("~~~~".to_owned()),
        Just("lamp-answer".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("   ".to_owned()),
        Just(ASKED.to_owned()),
        Just("{\"plan\": {\"files\": [{".to_owned()),
        Just("{\"review\": {\"findings\": [{\"line\": -1e308}]}}".to_owned()),
        "\\PC{0,5}",
        any::<String>(),
    ];
    vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_written_as_a_block_reads_back_equal((mode, answer) in answers()) {
        prop_assert_eq!(read(mode, &block(&answer)), Ok(answer.clone()));
        let among_words = format!("Before.\n\n{}\nAfter.", block(&answer));
        prop_assert_eq!(read(mode, &among_words), Ok(answer));
    }

    #[test]
    fn no_text_makes_it_panic_and_no_fault_is_without_bounds(text in nearly()) {
        for mode in Mode::ALL {
            for read in [read(mode, &text), read_plain(mode, &text)] {
                if let Err(faults) = read {
                    prop_assert!((1..=21).contains(&faults.sentences().len()));
                    prop_assert!(faults.sentences().iter().all(|it| it.len() <= 400 && !it.contains('\n')));
                    prop_assert!(Templates::builtin().unwrap().repair(mode, &faults).unwrap().len() < 16 * 1024);
                }
            }
        }
    }

    #[test]
    fn prose_is_never_a_question(text in "[^`~]{0,200}") {
        for mode in Mode::ALL {
            let asked = matches!(read(mode, &text), Ok(Answer::Question { .. }));
            prop_assert!(!asked);
        }
    }
}
