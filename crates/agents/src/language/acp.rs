//! The Agent Client Protocol, version 1: what an agent tells about a session.
//!
//! The messages themselves, JSON-RPC 2.0 in lines, are the driver's ([`crate::driver::acp`]). Agents differ in where they put what
//! a tool said; all places that were seen are looked at.

use std::collections::BTreeSet;

use domain::transcript::{LIST_LIMIT, TodoItem, TodoState, ToolKind, ToolStatus};
use serde_json::Value;

use super::{Heard, Over, ToolNews, owned, readable, status_in, text};

/// Reads the `update` of a `session/update`.
pub fn update(update: &Value) -> Vec<Heard> {
    match text(update, "/sessionUpdate") {
        Some("agent_message_chunk") => piece(update, Heard::Text),
        Some("agent_thought_chunk") => piece(update, Heard::Thought),
        Some("tool_call" | "tool_call_update") => tool(update),
        Some("plan") => {
            let listed = update.get("entries").map(entries);
            vec![Heard::Todo(listed.unwrap_or_default())]
        }
        // What the client said, what it may say, what the context holds: nothing that happens.
        Some(_) | None => Vec::new(),
    }
}

/// The answer to `initialize`.
pub fn hello(result: &Value) -> Heard {
    Heard::Hello { version: owned(result, "/agentInfo/version"), model: None }
}

/// The answer to `session/prompt`.
pub fn over(result: &Value) -> Over {
    match text(result, "/stopReason") {
        Some("end_turn") => Over::Ended,
        Some("cancelled") => Over::Cancelled,
        Some("refusal") => Over::Refused,
        Some("max_tokens") => Over::CutShort("the model's answer reached its limit".to_owned()),
        Some("max_turn_requests") => Over::CutShort("too many requests in one turn".to_owned()),
        Some(other) => Over::Failed { status: None, reason: format!("it stopped for `{other}`") },
        None => Over::Failed { status: None, reason: "it does not say why it stopped".to_owned() },
    }
}

/// An error instead of an answer.
pub fn error(error: &Value) -> Over {
    let message = owned(error, "/message").unwrap_or_else(|| "it does not say why".to_owned());
    let details = ["/data/details", "/data/message", "/data/reason"];
    let reason = match details.iter().find_map(|at| text(error, at)) {
        Some(details) if !message.contains(details) => format!("{message}: {details}"),
        Some(_) | None => message,
    };
    let number = |at| error.pointer(at).and_then(Value::as_i64);
    let told =
        number("/data/status").or_else(|| number("/data/statusCode")).or_else(|| number("/code"));
    let told =
        told.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    let is_authentication = number("/code") == Some(-32000);
    let status = told.or_else(|| status_in(&reason)).or_else(|| is_authentication.then_some(401));
    Over::Failed { status, reason }
}

fn piece(update: &Value, heard: fn(String) -> Heard) -> Vec<Heard> {
    owned(update, "/content/text").map(heard).into_iter().collect()
}

fn tool(update: &Value) -> Vec<Heard> {
    let Some(id) = text(update, "/toolCallId") else { return Vec::new() };
    let locations = update.pointer("/locations").and_then(Value::as_array);
    let content = update.pointer("/content").and_then(Value::as_array);
    let kind = text(update, "/kind").map(kind);
    let status = text(update, "/status").map(status);
    let diffs = content.into_iter().flatten().filter(|it| text(it, "/type") == Some("diff"));
    let changed: Vec<String> = diffs.filter_map(|it| owned(it, "/path")).collect();
    let places = locations.into_iter().flatten().filter_map(|it| owned(it, "/path"));
    let mut known = BTreeSet::new();
    let all = places.chain(changed).filter(|path| known.insert(path.clone()));
    let paths: Vec<String> = all.take(LIST_LIMIT).collect();
    let news = Heard::Tool(ToolNews {
        id: id.to_owned(),
        title: owned(update, "/title"),
        kind,
        status,
        input: update.pointer("/rawInput").and_then(readable),
        result: said(update),
        more: PIECES.iter().find_map(|at| owned(update, at)),
        paths,
    });
    let mut heard = vec![news];
    let todos = update.pointer("/rawInput/todos").map(entries).unwrap_or_default();
    if !todos.is_empty() {
        heard.push(Heard::Todo(todos));
    }
    heard
}

/// Where some put what a tool says while it says it, piece by piece.
const PIECES: [&str; 2] = ["/_meta/terminal_output/data", "/_meta/terminal_output_delta/data"];

/// What a tool said, wherever the agent puts it.
fn said(update: &Value) -> Option<String> {
    let content = update.pointer("/content").and_then(Value::as_array);
    let texts = content.into_iter().flatten().filter_map(|it| text(it, "/content/text"));
    let told: Vec<&str> = texts.collect();
    if !told.is_empty() {
        return Some(told.join("\n"));
    }
    let places = ["/rawOutput/output", "/rawOutput/error"];
    places
        .iter()
        .find_map(|at| owned(update, at))
        .or_else(|| update.pointer("/rawOutput").and_then(readable))
}

pub(crate) fn kind(word: &str) -> ToolKind {
    match word {
        "read" => ToolKind::Read,
        "edit" | "delete" | "move" => ToolKind::Edit,
        "search" => ToolKind::Search,
        "execute" => ToolKind::Execute,
        "fetch" => ToolKind::Fetch,
        "think" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn status(word: &str) -> ToolStatus {
    match word {
        "completed" => ToolStatus::Done,
        "failed" => ToolStatus::Failed,
        _ => ToolStatus::Running,
    }
}

fn entries(listed: &Value) -> Vec<TodoItem> {
    let one = |it: &Value| {
        let state = match text(it, "/status") {
            Some("completed") => TodoState::Done,
            Some("in_progress") => TodoState::Doing,
            Some(_) | None => TodoState::Waiting,
        };
        owned(it, "/content").map(|text| TodoItem { text, state })
    };
    listed.as_array().into_iter().flatten().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_that_changes_thousands_of_files_is_told_with_a_few() {
        let diff = |number: u32| json!({ "type": "diff", "path": format!("{number}") });
        let content: Vec<Value> = (0..40_000).chain(0..10).map(diff).collect();
        let heard = tool(&json!({ "toolCallId": "1", "content": content }));
        let [Heard::Tool(news)] = heard.as_slice() else { panic!("{}", heard.len()) };
        assert_eq!(news.paths.len(), LIST_LIMIT);
    }
}
