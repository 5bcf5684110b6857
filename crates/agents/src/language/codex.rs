//! `codex exec --json`: items that start and are completed, without pieces.

use domain::transcript::{TodoItem, TodoState, ToolKind, ToolStatus};
use serde_json::Value;

use super::{Heard, Over, ToolNews, owned, readable, status_in, text};

pub fn read(line: &Value) -> Vec<Heard> {
    match text(line, "/type") {
        Some("thread.started") => {
            owned(line, "/thread_id").map(Heard::Session).into_iter().collect()
        }
        Some("item.started" | "item.updated") => item(line, false),
        Some("item.completed") => item(line, true),
        Some("turn.completed") => vec![Heard::Over(Over::Ended)],
        Some("turn.failed") => {
            let reason =
                owned(line, "/error/message").unwrap_or_else(|| "it does not say why".to_owned());
            vec![Heard::Over(Over::Failed { status: status_in(&reason), reason })]
        }
        Some("error") => owned(line, "/message").map(Heard::Trouble).into_iter().collect(),
        Some(_) | None => Vec::new(),
    }
}

fn item(line: &Value, completed: bool) -> Vec<Heard> {
    let Some(item) = line.get("item") else { return Vec::new() };
    let whole = |heard: fn(String) -> Heard| match owned(item, "/text") {
        Some(text) if completed => vec![Heard::Break, heard(text)],
        Some(_) | None => Vec::new(),
    };
    match text(item, "/type") {
        Some("agent_message") => whole(Heard::Text),
        Some("reasoning") => whole(Heard::Thought),
        Some("command_execution") => command(item, completed),
        Some("file_change") => change(item, completed),
        Some("mcp_tool_call" | "web_search") => other(item, completed),
        Some("todo_list") => todo(item),
        Some("error") => owned(item, "/message").map(Heard::Trouble).into_iter().collect(),
        Some(_) | None => Vec::new(),
    }
}

fn status(item: &Value, completed: bool) -> ToolStatus {
    let code = item.pointer("/exit_code").and_then(Value::as_i64);
    match (completed, text(item, "/status"), code) {
        (false, _, _) => ToolStatus::Running,
        (true, Some("failed" | "declined"), _) => ToolStatus::Failed,
        (true, _, Some(code)) if code != 0 => ToolStatus::Failed,
        (true, _, _) => ToolStatus::Done,
    }
}

fn command(item: &Value, completed: bool) -> Vec<Heard> {
    let Some(id) = text(item, "/id") else { return Vec::new() };
    vec![Heard::Tool(ToolNews {
        title: owned(item, "/command"),
        kind: Some(ToolKind::Execute),
        status: Some(status(item, completed)),
        result: owned(item, "/aggregated_output"),
        ..ToolNews::of(id)
    })]
}

fn change(item: &Value, completed: bool) -> Vec<Heard> {
    let Some(id) = text(item, "/id") else { return Vec::new() };
    let changes = item.pointer("/changes").and_then(Value::as_array);
    let paths: Vec<String> =
        changes.into_iter().flatten().filter_map(|it| owned(it, "/path")).collect();
    vec![Heard::Tool(ToolNews {
        title: Some(format!("change {}", paths.join(", "))),
        kind: Some(ToolKind::Edit),
        status: Some(status(item, completed)),
        paths,
        ..ToolNews::of(id)
    })]
}

fn other(item: &Value, completed: bool) -> Vec<Heard> {
    let Some(id) = text(item, "/id") else { return Vec::new() };
    let name = ["/tool", "/query", "/type"].iter().find_map(|at| owned(item, at));
    vec![Heard::Tool(ToolNews {
        title: name,
        kind: Some(ToolKind::Other),
        status: Some(status(item, completed)),
        input: item.pointer("/arguments").and_then(readable),
        ..ToolNews::of(id)
    })]
}

fn todo(item: &Value) -> Vec<Heard> {
    let items = item.pointer("/items").and_then(Value::as_array);
    let one = |it: &Value| {
        let done = it.pointer("/completed").and_then(Value::as_bool).unwrap_or_default();
        let state = if done { TodoState::Done } else { TodoState::Waiting };
        owned(it, "/text").map(|text| TodoItem { text, state })
    };
    let items: Vec<TodoItem> = items.into_iter().flatten().filter_map(one).collect();
    vec![Heard::Todo(items)]
}
