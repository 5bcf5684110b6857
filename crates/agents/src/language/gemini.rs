//! Gemini CLI's `stream-json`. It tells no thoughts, and takes a stream that was cut for a success.

use domain::transcript::{TodoItem, TodoState, ToolKind, ToolStatus};
use serde_json::Value;

use super::{Heard, Over, ToolNews, owned, readable, status_in, text};

pub fn read(line: &Value) -> Vec<Heard> {
    match text(line, "/type") {
        Some("init") => {
            let hello = Heard::Hello { version: None, model: owned(line, "/model") };
            owned(line, "/session_id").map(Heard::Session).into_iter().chain([hello]).collect()
        }
        Some("message") if text(line, "/role") == Some("assistant") => {
            owned(line, "/content").map(Heard::Text).into_iter().collect()
        }
        Some("tool_use") => used(line),
        Some("tool_result") => result(line),
        Some("error") => owned(line, "/message").map(Heard::Trouble).into_iter().collect(),
        Some("result") => vec![Heard::Over(over(line))],
        Some(_) | None => Vec::new(),
    }
}

fn used(line: &Value) -> Vec<Heard> {
    let (Some(id), Some(name)) = (text(line, "/tool_id"), text(line, "/tool_name")) else {
        return Vec::new();
    };
    let input = line.pointer("/parameters").cloned().unwrap_or(Value::Null);
    let what = ["/command", "/file_path", "/path", "/pattern", "/query", "/url"];
    let what = what.iter().find_map(|at| text(&input, at));
    let news = ToolNews {
        title: Some(what.map_or_else(|| name.to_owned(), |what| format!("{name}: {what}"))),
        kind: Some(kind(name)),
        status: Some(ToolStatus::Running),
        input: readable(&input),
        paths: owned(&input, "/file_path").into_iter().collect(),
        ..ToolNews::of(id)
    };
    let mut heard = vec![Heard::Tool(news)];
    if name == "write_todos" {
        heard.push(Heard::Todo(todos(&input)));
    }
    heard
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" | "read_many_files" => ToolKind::Read,
        "write_file" | "replace" => ToolKind::Edit,
        "run_shell_command" => ToolKind::Execute,
        "glob" | "list_directory" | "search_file_content" | "grep_search" => ToolKind::Search,
        "web_fetch" | "google_web_search" => ToolKind::Fetch,
        "write_todos" | "save_memory" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn todos(input: &Value) -> Vec<TodoItem> {
    let items = input.pointer("/todos").and_then(Value::as_array);
    let one = |it: &Value| {
        let state = match text(it, "/status") {
            Some("completed") => TodoState::Done,
            Some("in_progress") => TodoState::Doing,
            Some(_) | None => TodoState::Waiting,
        };
        owned(it, "/description").map(|text| TodoItem { text, state })
    };
    items.into_iter().flatten().filter_map(one).collect()
}

fn result(line: &Value) -> Vec<Heard> {
    let Some(id) = text(line, "/tool_id") else { return Vec::new() };
    let failed = text(line, "/status") != Some("success");
    let said = line.pointer("/output").and_then(readable);
    vec![Heard::Tool(ToolNews {
        status: Some(if failed { ToolStatus::Failed } else { ToolStatus::Done }),
        result: said.or_else(|| owned(line, "/error/message")),
        ..ToolNews::of(id)
    })]
}

fn over(line: &Value) -> Over {
    if text(line, "/status") == Some("success") {
        return Over::Ended;
    }
    let reason = owned(line, "/error/message").unwrap_or_else(|| "it does not say why".to_owned());
    let short = ["FatalTurnLimitedError", "MaxSessionTurns"];
    if text(line, "/error/type").is_some_and(|kind| short.contains(&kind)) {
        return Over::CutShort(reason);
    }
    Over::Failed { status: status_in(&reason), reason }
}
