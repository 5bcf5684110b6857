//! What is told while a turn runs: `session/update`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    conversation::{Call, End},
    cut,
    model::Usage,
    object::with,
    outlet::Outlet,
    tools::{self, Outcome, Toolbox, todo},
};

/// Tells about one session.
#[derive(Debug, Clone)]
pub struct Updates {
    outlet: Arc<Outlet>,
    session: String,
}

/// A text is told in pieces of this size.
const PIECE: usize = 16 << 10;
/// A larger change is shown by its path only.
const LARGEST_CHANGE: usize = 64 << 10;

impl Updates {
    pub fn new(outlet: Arc<Outlet>, session: String) -> Self {
        Self { outlet, session }
    }

    pub fn is_broken(&self) -> bool {
        self.outlet.is_broken()
    }

    pub fn message(&self, text: &str) {
        self.text("agent_message_chunk", text);
    }

    pub fn thought(&self, text: &str) {
        self.text("agent_thought_chunk", text);
    }

    pub(crate) fn person(&self, text: &str) {
        self.text("user_message_chunk", text);
    }

    /// All pieces of one text have one id, and no other text has it.
    fn text(&self, kind: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let id = format!("msg_{}", self.outlet.next_message());
        for piece in cut::pieces(text, PIECE) {
            let content = json!({ "type": "text", "text": piece });
            self.tell(&json!({ "sessionUpdate": kind, "messageId": id, "content": content }));
        }
    }

    pub fn call_begins(&self, call: &Call, toolbox: &Toolbox) {
        let (title, kind, places) = tools::shown(call, toolbox);
        let places: Vec<Value> =
            places.iter().map(|path| json!({ "path": path.to_string_lossy() })).collect();
        self.tell(&json!({
            "sessionUpdate": "tool_call",
            "toolCallId": call.id,
            "title": title,
            "kind": kind,
            "status": "in_progress",
            "locations": places,
            "rawInput": tools::raw_input(call),
        }));
    }

    pub fn call_ends(&self, call: &Call, outcome: &Outcome) {
        let mut content =
            vec![json!({ "type": "content", "content": { "type": "text", "text": outcome.text } })];
        if let Some(change) = &outcome.change {
            let size = change.after.len() + change.before.as_ref().map_or(0, String::len);
            if size <= LARGEST_CHANGE {
                content.push(json!({
                    "type": "diff",
                    "path": change.path.to_string_lossy(),
                    "oldText": change.before,
                    "newText": change.after,
                }));
            }
        }
        let end = if outcome.is_failing() { End::Failed } else { End::Done };
        let update = ended(&call.id, end, &content);
        self.tell(&match outcome.exit_code {
            Some(code) => with(update, "rawOutput", json!({ "exitCode": code })),
            None => update,
        });
    }

    /// A call that ended in an earlier life.
    pub(crate) fn call_ended(&self, id: &str, end: End, text: &str) {
        let content = json!({ "type": "content", "content": { "type": "text", "text": text } });
        self.tell(&ended(id, end, &[content]));
    }

    pub fn plan(&self, plan: &todo::Plan) {
        let entry = |step: &todo::Step| json!({ "content": step.text, "priority": "medium", "status": step.status.name() });
        let entries: Vec<Value> = plan.steps.iter().map(entry).collect();
        self.tell(&json!({ "sessionUpdate": "plan", "entries": entries }));
    }

    /// What the conversation takes of the window, and what this turn and the session took of the model.
    pub fn usage(&self, used: u64, size: u64, turn: &Usage, session: &Usage) {
        self.tell(&json!({
            "sessionUpdate": "usage_update",
            "used": used,
            "size": size,
            "_meta": { "turn": tokens(turn), "session": tokens(session) },
        }));
    }

    fn tell(&self, update: &Value) {
        self.outlet
            .notify("session/update", &json!({ "sessionId": self.session, "update": update }));
    }
}

fn ended(id: &str, end: End, content: &[Value]) -> Value {
    let status = match end {
        End::Done => "completed",
        End::Failed => "failed",
    };
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, "content": content })
}

/// In the protocol's words. What came from the cache is not part of `inputTokens`.
pub(crate) fn tokens(usage: &Usage) -> Value {
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": usage.total(),
        "cachedReadTokens": usage.cache_read,
        "cachedWriteTokens": usage.cache_write,
        "thoughtTokens": usage.thinking,
    })
}
