//! What is said in each phase of the demo's one task.
//!
//! The steps of a phase are said one after another, whatever became of the calls. What a phase ends with looks at the results: it does not
//! say that the tests pass when they do not. Whoever asks for anything else is told that there are no answers to it.

use serde_json::{Value, json};

use super::conversation::{Conversation, Phase, Wish};
use crate::sample::REQUEST;

/// The one command that the work needs. The plan names it, so that the work stays within what was approved.
const TEST: &str = "make test";

/// What the reviewer looks at, what it tries, and what comes of it when the change is right. It begins beside the repository.
const LOOK: &str = "cd lamps && git show HEAD";
const TRIAL: &str = "cd lamps && python3 -B -c 'from lamps import burning_time as t; print(t(\"22:00\", \"06:00\"), t(\"17:00\", \"22:00\"), t(\"18:00\", \"00:00\"))'";
const RIGHT: &str = "480 300 360";

const WRONG_LINE: &str = "    return minutes(put_out) - minutes(lit)\n";
const FIRST_TRY: &str = "    return minutes(put_out) - minutes(lit) + DAY\n";
const RIGHT_LINE: &str = "    return (minutes(put_out) - minutes(lit)) % DAY\n";
const LAST_TEST: &str =
    "        self.assertEqual(burning_time(\"22:00\", \"06:00\"), 480)\n\n\nif __name__";
const NEW_TEST: &str = "        self.assertEqual(burning_time(\"22:00\", \"06:00\"), 480)\n\n    def test_until_midnight(self):\n        self.assertEqual(burning_time(\"18:00\", \"00:00\"), 360)\n\n\nif __name__";

const NO_ANSWER: &str = "The answers of this demo are bundled, and there is none to this: they tell one story only. With a real model the agent would go on here.";

/// What the model says next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) call: Option<Call>,
}

/// A tool that it calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// Unique in the conversation.
    pub(super) id: String,
    pub(super) name: &'static str,
    pub(super) arguments: Value,
}

/// One step: a sentence, and a call.
struct Step(&'static str, &'static str, Value);

pub(super) fn reply(conversation: &Conversation) -> Reply {
    let Some(phase) = conversation.phase.filter(|_| belongs(conversation)) else {
        return said(&answer(&json!({ "question": { "text": NO_ANSWER } })));
    };
    let step = steps(phase).into_iter().nth(conversation.steps);
    match (conversation.wish, step) {
        (Wish::Next, Some(Step(text, name, arguments))) => {
            let id = format!("call_{}", conversation.steps + 1);
            Reply { text: text.to_owned(), call: Some(Call { id, name, arguments }) }
        }
        (Wish::Next, None) | (Wish::Repair, _) => said(&ending(phase, conversation)),
    }
}

/// Whether this is the story that the answers tell: its request, and the work's first round.
fn belongs(conversation: &Conversation) -> bool {
    let again =
        ["\n## What was found in your work so far\n", "\n## What was found in earlier work\n"];
    conversation.prompt.contains(REQUEST)
        && !again.iter().any(|heading| conversation.prompt.contains(heading))
}

fn said(text: &str) -> Reply {
    Reply { text: text.to_owned(), call: None }
}

fn steps(phase: Phase) -> Vec<Step> {
    match phase {
        Phase::Research => vec![
            Step("I look at what is here.", "read", json!({ "path": "." })),
            Step("", "read", json!({ "path": "lamps.py" })),
            Step("", "read", json!({ "path": "test_lamps.py" })),
            Step("Do the tests see it?", "shell", json!({ "command": TEST })),
        ],
        Phase::Plan => vec![
            Step("", "read", json!({ "path": "lamps.py" })),
            Step("", "search", json!({ "pattern": "burning_time", "plain": true })),
        ],
        Phase::Implement => vec![
            Step("", "read", json!({ "path": "lamps.py" })),
            Step(
                "A night crosses midnight, so a day is missing.",
                "edit",
                json!({ "path": "lamps.py", "old": WRONG_LINE, "new": FIRST_TRY }),
            ),
            Step("", "shell", json!({ "command": TEST })),
            Step(
                "Now the evening is a day too long: I was wrong. Only what crosses midnight lacks a day.",
                "edit",
                json!({ "path": "lamps.py", "old": FIRST_TRY, "new": RIGHT_LINE }),
            ),
            Step(
                "And the fault gets a test of its own, at the edge.",
                "edit",
                json!({ "path": "test_lamps.py", "old": LAST_TEST, "new": NEW_TEST }),
            ),
            Step("", "shell", json!({ "command": TEST })),
        ],
        Phase::Review => vec![
            Step("What was changed?", "shell", json!({ "command": LOOK })),
            Step("I try it with numbers that I choose.", "shell", json!({ "command": TRIAL })),
        ],
    }
}

/// What a phase ends with.
fn ending(phase: Phase, conversation: &Conversation) -> String {
    match phase {
        Phase::Research => include_str!("notes.md").to_owned(),
        Phase::Plan => answer(&plan()),
        Phase::Implement => {
            let passes = conversation.last_result().starts_with("exit code 0");
            let summary = if passes {
                "`burning_time` takes the remainder of a day, so a lamp that burns past midnight is counted right. A new test looks at a lamp that is put out at midnight itself. `make test` passes."
            } else {
                "I changed what the plan names, but `make test` does not pass here, and the bundled answers know no other way."
            };
            answer(&json!({ "change": { "summary": summary } }))
        }
        Phase::Review => {
            let findings = if conversation.last_result().contains(RIGHT) {
                json!([])
            } else {
                json!([{
                    "path": "lamps.py",
                    "line": 14,
                    "what": "a night, an evening and a lamp that burns until midnight are not counted right",
                    "failing_input": TRIAL,
                }])
            };
            answer(&json!({ "review": { "findings": findings } }))
        }
    }
}

fn plan() -> Value {
    json!({ "plan": {
        "summary": "Count a lamp that burns past midnight right: take the difference of the two times as a remainder of one day.",
        "files": [
            { "path": "lamps.py", "why": "`burning_time` is negative when the lamp is put out on the next day" },
            { "path": "test_lamps.py", "why": "a test for a lamp that is put out at midnight itself" },
        ],
        "tests": ["a lamp that burns from 18:00 until 00:00 burns 360 minutes"],
        "expected_behaviour": "From 22:00 until 06:00 are 480 minutes. From 17:00 until 22:00 are 300, as before.",
        "commands": [TEST],
        "hosts": [],
        "risks": ["A lamp that is put out in the minute in which it was lit burns 0 minutes, not a whole day; as before."],
        "minutes": 1,
    } })
}

/// In the block that the platform reads.
fn answer(value: &Value) -> String {
    format!("```lamp-answer\n{value}\n```\n")
}
