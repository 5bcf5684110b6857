//! Tells the history of a session again, as if it happened now.

use super::Updates;
use crate::{
    conversation::{Call, Entry},
    tools::{Task, Toolbox},
};

pub(super) fn replay(history: &[Entry], updates: &Updates, toolbox: &Toolbox) {
    for entry in history {
        match entry {
            Entry::User(text) => updates.person(text),
            Entry::Summary(_) => {}
            Entry::Assistant(said) => {
                for thought in &said.thoughts {
                    updates.thought(thought.text());
                }
                updates.message(&said.text);
                for call in &said.calls {
                    again(call, updates, toolbox);
                }
            }
            Entry::Results(results) => {
                for result in results {
                    updates.call_ended(&result.id, result.end, &result.text);
                }
            }
        }
    }
}

fn again(call: &Call, updates: &Updates, toolbox: &Toolbox) {
    updates.call_begins(call, toolbox);
    match toolbox.understand(call) {
        Ok(Task::Plan(plan)) => updates.plan(&plan),
        Ok(Task::Ask(question)) => updates.message(&question.block()),
        Ok(Task::Shell(_) | Task::Read(_) | Task::Edit(_) | Task::Search(_)) | Err(_) => {}
    }
}
