//! Where an answer is, and where it only seems to be.

use super::*;

#[test]
fn an_answer_is_found_among_other_words() {
    for text in [
        format!("```lamp-answer\n{ASKED}\n```"),
        format!(
            "I looked.\n\n```rust\nfn x() {{}}\n```\n\n```lamp-answer\n{ASKED}\n```\nThat is all."
        ),
        format!("```lamp-answer\r\n{ASKED}\r\n```\r\n"),
        format!("   ```lamp-answer\n   {ASKED}\n  ```"),
        format!("~~~lamp-answer\n{ASKED}\n~~~"),
        format!("`````  lamp-answer \t\n{ASKED}\n``````  "),
        format!("```lamp-answer\n\n\n{ASKED}\n\n```"),
        format!("a line with ```code``` in it\n```lamp-answer\n{ASKED}\n```"),
    ] {
        for mode in [Mode::Research, Mode::Plan, Mode::Implement] {
            assert_eq!(read(mode, &text), Ok(question()), "{mode:?}: {text}");
        }
        // A reviewer asks nobody.
        insta::allow_duplicates! {
            insta::assert_snapshot!(fault(Mode::Review, &text), @"the answer has the key `question`: it must be an object with one key, `review`");
        }
    }
}

#[test]
fn the_last_block_counts() {
    let first = "```lamp-answer\n{\"question\": {\"text\": \"first?\"}}\n```\n";
    let text = format!("{first}No, this:\n```lamp-answer\n{ASKED}\n```");
    assert_eq!(read(Mode::Plan, &text), Ok(question()));
    let text = format!("```lamp-answer\nnonsense\n```\n```lamp-answer\n{ASKED}\n```");
    assert_eq!(read(Mode::Plan, &text), Ok(question()));
}

#[test]
fn an_example_in_a_longer_or_another_fence_is_no_answer() {
    let inner = format!("```lamp-answer\n{ASKED}\n```");
    for text in [format!("````markdown\n{inner}\n````"), format!("~~~\n{inner}\n~~~\n")] {
        assert_eq!(read(Mode::Implement, &text), Ok(Answer::Change), "{text}");
    }
    // Not a fence in Markdown: code by indentation, and code within a line.
    for text in [
        format!("    ```lamp-answer\n    {ASKED}\n    ```"),
        format!("```lamp-answer `{ASKED}` ```"),
    ] {
        assert_eq!(read(Mode::Implement, &text), Ok(Answer::Change), "{text}");
    }
    let quoted = format!("> {}", inner.replace('\n', "\n> "));
    assert_eq!(read(Mode::Implement, &quoted), Ok(Answer::Change));
}

#[test]
fn a_mark_that_is_nearly_right_is_a_fault_and_not_prose() {
    let unclosed = [
        format!("```lamp-answer\n{ASKED}\n"),
        format!("```lamp-answer\n{ASKED}\n``"),
        format!("```lamp-answer\n{ASKED}\n~~~"),
        format!("````lamp-answer\n{ASKED}\n```"),
        format!("```lamp-answer\n{ASKED}\n```json"),
        format!("```lamp-answer\n{ASKED}\n    ```"),
        // Not even when there was one before: this one was meant.
        format!("```lamp-answer\n{ASKED}\n```\n```lamp-answer\n{{\"plan\": "),
    ];
    for text in unclosed {
        for mode in Mode::ALL {
            assert_eq!(
                fault(mode, &text),
                "the block marked `lamp-answer` is not closed",
                "{text}"
            );
        }
    }
    for info in
        ["Lamp-Answer", "json lamp-answer", "lamp-answer json", "lamp-answers", "{.lamp-answer}"]
    {
        let text = format!("```{info}\n{ASKED}\n```");
        let expected = "the mark of the block must be `lamp-answer` and nothing else";
        assert_eq!(fault(Mode::Implement, &text), expected, "{info}");
    }
}

#[test]
fn an_answer_in_a_block_that_was_not_closed_is_a_fault() {
    let text = format!("```rust\nfn x() {{}}\n\n```lamp-answer\n{ASKED}\n```\n");
    for mode in Mode::ALL {
        insta::allow_duplicates! {
            insta::assert_snapshot!(fault(mode, &text), @"the block marked `lamp-answer` is inside another block: close that one first, or take its fence away");
        }
    }
    let mended = format!("{text}\n```lamp-answer\n{ASKED}\n```\n");
    assert_eq!(read(Mode::Implement, &mended), Ok(question()));
}

#[test]
fn an_empty_block_is_a_fault() {
    for text in
        ["```lamp-answer\n```", "```lamp-answer\n \n\t\n```", "```lamp-answer\r\n\r\n```\r\n"]
    {
        for mode in Mode::ALL {
            assert_eq!(fault(mode, text), "the answer is empty: write one JSON object");
        }
    }
}

#[test]
fn without_a_block_only_research_and_implement_have_answers() {
    assert_eq!(read(Mode::Implement, ""), Ok(Answer::Change));
    assert_eq!(read(Mode::Implement, "Shall I go on?"), Ok(Answer::Change));
    assert_eq!(
        read(Mode::Research, "\n It is in `a.rs`.\u{1b}[0m \n"),
        Ok(Answer::Notes("It is in `a.rs`.[0m".to_owned()))
    );
    assert_eq!(fault(Mode::Research, " \n\u{200b}"), "there are no notes: say what you found");
    insta::assert_snapshot!(fault(Mode::Plan, "{\"plan\": {}}"), @r#"there is no block marked `lamp-answer`: end with one that holds `{"plan": …}`"#);
    insta::assert_snapshot!(fault(Mode::Review, "All is well."), @r#"there is no block marked `lamp-answer`: end with one that holds `{"review": …}`"#);
}

#[test]
fn long_notes_lose_their_middle_and_say_so() {
    let Ok(Answer::Notes(notes)) = read(Mode::Research, &"word ".repeat(50_000)) else {
        panic!("they are notes")
    };
    assert!(notes.len() <= NOTES_LIMIT, "{}", notes.len());
    assert!(notes.contains("bytes left out"));
}

#[test]
fn a_block_has_a_limit() {
    let text = format!("```lamp-answer\n{{\"notes\": \"{}\"}}\n```", "x".repeat(LIMIT));
    insta::assert_snapshot!(fault(Mode::Research, &text), @"the answer has 262158 bytes, and 262144 are allowed");
}
