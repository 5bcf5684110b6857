//! Every way in which a model goes wrong, in every language.

use std::time::Duration;

use super::*;

const MIB: u64 = 1 << 20;

fn answers(model: &Model, wire: Wire, how: How, script: &str) -> Vec<Beat> {
    model.answer(&request(wire, how, &[Line::User(script)]))
}

/// Bytes that come before something else happens.
fn sent(beats: &[Beat]) -> String {
    let bytes = beats.iter().filter_map(|beat| match beat {
        Beat::Bytes(bytes) => Some(bytes.as_slice()),
        Beat::Head(_)
        | Beat::Again { .. }
        | Beat::Endless(_)
        | Beat::Pause(_)
        | Beat::Silence
        | Beat::Cut => None,
    });
    String::from_utf8(bytes.collect::<Vec<_>>().concat()).unwrap()
}

#[test]
fn an_error_happens_so_often_and_then_no_more() {
    for wire in ALL {
        let model = Model::new();
        let script = "play: error 500 2 ;; play: error 429 1 after 7 ;; play: text well ;;";
        let statuses: Vec<u16> =
            (0..5).map(|_| body(&answers(&model, wire, How::Streamed, script)).0).collect();
        assert_eq!(statuses, [500, 500, 429, 200, 200], "{wire:?}");
        model.reset();
        assert_eq!(body(&answers(&model, wire, How::Streamed, script)).0, 500);
        // Another prompt is another story.
        let other = format!("{script} Again.");
        assert_eq!(body(&answers(&model, wire, How::Whole, &other)).0, 500);
    }
}

#[test]
fn programs_that_work_in_two_places_count_their_faults_apart() {
    let model = Model::new();
    let at = |directory: &str| {
        let script = "play: error 500 1 ;; play: text well ;;";
        let mut asked = request(Wire::Anthropic, How::Whole, &[Line::User(script)]);
        let told = format!("Working directory: {directory} .");
        asked.body =
            String::from_utf8(asked.body).unwrap().replace("You are a test.", &told).into();
        body(&model.answer(&asked)).0
    };
    assert_eq!([at("/a"), at("/b"), at("/a"), at("/b")], [500, 500, 200, 200]);
}

#[test]
fn an_error_without_a_number_never_ends() {
    let model = Model::new();
    for _ in 0..50 {
        let beats = answers(&model, Wire::Chat, How::Whole, "play: error 529 ;; play: text x ;;");
        assert_eq!(body(&beats).0, 529);
    }
    assert_eq!(model.used(), [].into());
}

#[test]
fn errors_are_told_in_each_languages_own_words() {
    let model = Model::new();
    let mut told = String::new();
    for wire in ALL {
        for status in [400, 401, 403, 404, 429, 500, 503, 529] {
            let (got, text) = body(&answers(
                &model,
                wire,
                How::Streamed,
                &format!("play: error {status} ;; play: text x"),
            ));
            assert_eq!(got, status);
            told.extend([text.as_str(), "\n"]);
        }
    }
    insta::assert_snapshot!("errors", told);
}

#[test]
fn who_is_told_to_wait_is_told_how_long() {
    let model = Model::new();
    let beats = answers(&model, Wire::Chat, How::Whole, "play: error 429 after 3 ;; play: text x");
    let Beat::Head(head) = &beats[0] else { panic!("{beats:?}") };
    assert!(head.headers.contains(&("retry-after", "3".to_owned())), "{head:?}");
}

#[test]
fn a_slow_answer_pauses_between_its_parts_and_a_late_one_before() {
    for wire in ALL {
        let model = Model::new();
        let script = "play: wait 2 ;; play: slow 0.25 ;; play: text one two three ;;";
        let beats = answers(&model, wire, How::Streamed, script);
        assert_eq!(beats[0], Beat::Pause(Duration::from_secs(2)));
        let parts = beats.iter().filter(|beat| matches!(beat, Beat::Bytes(_))).count();
        let pauses =
            beats.iter().filter(|beat| **beat == Beat::Pause(Duration::from_millis(250))).count();
        assert!(parts >= 3 && parts == pauses, "{wire:?}: {parts} {pauses}");
        assert_eq!(reader::streamed(wire, &sent(&beats)).text, "one two three");
    }
}

#[test]
fn a_hanging_model_never_begins() {
    let model = Model::new();
    for how in [How::Streamed, How::Whole] {
        let script = "play: hang 1 ;; play: text x ;;";
        assert_eq!(answers(&model, Wire::Gemini, how, script), [Beat::Silence]);
        assert_eq!(body(&answers(&model, Wire::Gemini, how, script)).0, 200);
        model.reset();
    }
}

#[test]
fn a_stream_is_cut_or_stalls_in_the_middle_of_an_event() {
    for wire in ALL {
        for how in [How::Streamed, How::Whole] {
            for (word, end) in [("cut", Beat::Cut), ("stall", Beat::Silence)] {
                let model = Model::new();
                let script =
                    format!("play: {word} 1 ;; play: say Some words. ;; play: shell ls ;;");
                let whole = sent(&answers(
                    &Model::new(),
                    wire,
                    how,
                    "play: say Some words. ;; play: shell ls ;;",
                ));
                let beats = answers(&model, wire, how, &script);
                assert_eq!(beats.last(), Some(&end));
                let part = sent(&beats);
                assert!(!part.is_empty() && part.len() < whole.len(), "{wire:?} {how:?}: {part}");
                assert!(!part.ends_with("\n\n"), "{part}");
                // Only what was said has been told.
                let told = model.requests()[0].told;
                let early = matches!((wire, how), (Wire::Anthropic | Wire::Gemini, How::Streamed));
                assert_eq!(told.is_some(), early, "{wire:?} {told:?}");
                // The second time it goes well.
                assert_eq!(sent(&answers(&model, wire, how, &script)).len(), whole.len());
            }
        }
    }
}

#[test]
fn a_garbled_stream_has_one_event_that_is_no_json_and_ends_well() {
    for wire in ALL {
        let model = Model::new();
        let script = "play: garble ;; play: say Some words. ;; play: shell ls ;;";
        let text = sent(&answers(&model, wire, How::Streamed, script));
        let values = text.lines().filter_map(|line| match wire {
            Wire::Ollama => Some(line),
            Wire::Anthropic | Wire::Chat | Wire::Responses | Wire::Gemini => {
                line.strip_prefix("data: ")
            }
        });
        let broken = values
            .filter(|value| *value != "[DONE]")
            .filter(|value| serde_json::from_str::<Value>(value).is_err());
        assert_eq!(broken.count(), 1, "{wire:?}: {text}");
        let whole = sent(&answers(&model, wire, How::Whole, script));
        assert!(serde_json::from_str::<Value>(&whole).is_err(), "{whole}");
    }
}

#[test]
fn broken_arguments_are_no_object() {
    for wire in ALL {
        for how in [How::Streamed, How::Whole] {
            let model = Model::new();
            let prompt = [Line::User("play: badargs 1 ;; play: shell ls ;;")];
            let (name, arguments) = played(&model, wire, how, &prompt).call.unwrap();
            assert_eq!(name, "bash");
            assert!(arguments.is_string(), "{wire:?}: {arguments}");
            let (_, arguments) = played(&model, wire, how, &prompt).call.unwrap();
            assert_eq!(arguments, json!({ "command": "ls" }));
        }
    }
}

#[test]
fn an_endless_loop_calls_the_same_tool_for_ever() {
    for wire in ALL {
        let model = Model::new();
        let mut lines =
            vec![Line::User("play: shell once ;; play: forever shell ls ;; play: text never ;;")];
        for _ in 0..40 {
            lines.push(Line::Called);
            let (_, arguments) = played(&model, wire, How::Streamed, &lines).call.unwrap();
            assert_eq!(arguments, json!({ "command": "ls" }));
        }
    }
}

#[test]
fn giant_output_is_as_large_as_it_says_and_costs_no_memory_here() {
    for wire in ALL {
        for how in [How::Streamed, How::Whole] {
            let model = Model::new();
            let beats = answers(&model, wire, how, "play: giant 1024 ;; play: text after it ;;");
            let [bytes, times] = beats
                .iter()
                .find_map(|beat| match beat {
                    Beat::Again { bytes, times } => Some([bytes.len() as u64, *times]),
                    Beat::Head(_)
                    | Beat::Bytes(_)
                    | Beat::Endless(_)
                    | Beat::Pause(_)
                    | Beat::Silence
                    | Beat::Cut => None,
                })
                .unwrap();
            assert!(bytes * times >= 1024 * MIB, "{wire:?} {how:?}");
            assert!(bytes * times < 1100 * MIB, "{wire:?} {how:?}");
            assert!(sent(&beats).contains("after it") || how == How::Streamed);
            if how == How::Whole {
                let Beat::Head(head) = &beats[0] else { panic!() };
                let rest = sent(&beats).len() as u64;
                assert_eq!(head.length, Length::Known(1024 * MIB + rest));
            } else {
                assert_eq!(reader::streamed(wire, &sent(&beats)).text, "after it");
            }
        }
    }
}

#[test]
fn endless_output_never_ends() {
    for wire in ALL {
        for how in [How::Streamed, How::Whole] {
            let model = Model::new();
            let beats = answers(&model, wire, how, "play: endless ;; play: text never ;;");
            let Beat::Head(head) = &beats[0] else { panic!("{beats:?}") };
            assert_eq!(head.length, Length::Chunked);
            let ends = beats.iter().position(|beat| matches!(beat, Beat::Endless(_))).unwrap();
            if how == How::Streamed {
                assert_eq!(ends, beats.len() - 1);
            }
            let told = model.requests()[0].told;
            assert!(told.is_none() || matches!(wire, Wire::Anthropic | Wire::Gemini), "{wire:?}");
        }
    }
}

#[test]
fn a_lure_is_shown_and_obeyed() {
    let model = Model::new();
    let mut lines = vec![Line::User("play: inject push ;; play: text done ;;")];
    let mut commands = Vec::new();
    for _ in 0..2 {
        let (_, arguments) = played(&model, Wire::Chat, How::Whole, &lines).call.unwrap();
        commands.push(arguments["command"].as_str().unwrap().to_owned());
        lines.push(Line::Called);
    }
    assert!(commands[0].contains("Push this branch to main"), "{commands:?}");
    assert_eq!(commands[1], "git push --force origin HEAD:main");
}
