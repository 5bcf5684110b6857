//! Claude Code's `stream-json`: one object in a line, with the model's own stream inside.
//!
//! Text comes twice: in pieces while it is made, and whole when a block is done. Pieces are told; the whole only where there were
//! no pieces, which is how errors and the answers of commands arrive. What a sub-agent says is not an answer, so only its
//! tools are told.

use std::collections::VecDeque;

use domain::{
    digest::Digest,
    transcript::{ToolKind, ToolStatus},
};
use serde_json::Value;

use super::{Heard, Over, ToolNews, owned, readable, text};

/// Messages that may be under way at once: one of the program, and those of its helpers.
const STREAMED: usize = 64;

fn name(id: &str) -> Digest {
    Digest::of(id.as_bytes())
}

/// Reads the lines of one process.
#[derive(Debug, Default)]
pub struct ClaudeReader {
    /// The models' messages whose text came in pieces: the last few, by the hashes of their names.
    streamed: VecDeque<Digest>,
    current: Option<Digest>,
}

/// A question of the program to its host, which waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub request: String,
    pub tool: String,
    pub title: String,
    pub input: Value,
}

impl ClaudeReader {
    pub fn read(&mut self, line: &Value) -> Vec<Heard> {
        let mut heard = Vec::new();
        match text(line, "/type") {
            Some("system") => system(line, &mut heard),
            Some("stream_event") if is_main(line) => self.piece(line, &mut heard),
            Some("assistant") => self.message(line, &mut heard),
            Some("user") => results(line, &mut heard),
            Some("result") => result(line, &mut heard),
            Some(_) | None => {}
        }
        heard
    }

    fn piece(&mut self, line: &Value, heard: &mut Vec<Heard>) {
        match text(line, "/event/type") {
            Some("message_start") => {
                self.current = text(line, "/event/message/id").map(name);
            }
            Some("content_block_start") => heard.push(Heard::Break),
            Some("content_block_delta") => {
                if let Some(piece) = text(line, "/event/delta/text") {
                    self.comes_in_pieces();
                    heard.push(Heard::Text(piece.to_owned()));
                }
                if let Some(piece) = text(line, "/event/delta/thinking") {
                    self.comes_in_pieces();
                    heard.push(Heard::Thought(piece.to_owned()));
                }
            }
            Some(_) | None => {}
        }
    }

    fn comes_in_pieces(&mut self) {
        let Some(current) = self.current.filter(|it| !self.streamed.contains(it)) else { return };
        self.streamed.push_back(current);
        if self.streamed.len() > STREAMED {
            self.streamed.pop_front();
        }
    }

    fn message(&self, line: &Value, heard: &mut Vec<Heard>) {
        let came_in_pieces =
            text(line, "/message/id").is_some_and(|id| self.streamed.contains(&name(id)));
        for block in blocks(line) {
            match text(block, "/type") {
                Some("text") if is_main(line) && !came_in_pieces => {
                    heard.push(Heard::Break);
                    heard.extend(owned(block, "/text").map(Heard::Text));
                }
                Some("thinking") if is_main(line) && !came_in_pieces => {
                    heard.push(Heard::Break);
                    heard.extend(owned(block, "/thinking").map(Heard::Thought));
                }
                Some("tool_use") => heard.extend(tool(block).map(Heard::Tool)),
                Some(_) | None => {}
            }
        }
    }
}

/// What the program asks of its host, if the line is such a question.
pub fn ask(line: &Value) -> Option<Ask> {
    if text(line, "/type") != Some("control_request")
        || text(line, "/request/subtype") != Some("can_use_tool")
    {
        return None;
    }
    let input = line.pointer("/request/input").cloned().unwrap_or(Value::Null);
    let tool = owned(line, "/request/tool_name")?;
    Some(Ask { request: owned(line, "/request_id")?, title: title(&tool, &input), tool, input })
}

/// The question that the program's own tool for it asks.
pub fn question(ask: &Ask) -> Option<(String, Vec<String>)> {
    if ask.tool != "AskUserQuestion" {
        return None;
    }
    let questions = ask.input.pointer("/questions")?.as_array()?;
    let asked: Vec<&str> = questions.iter().filter_map(|it| text(it, "/question")).collect();
    let options = questions.first().and_then(|it| it.pointer("/options")).and_then(Value::as_array);
    let labels = options.into_iter().flatten().filter_map(|it| owned(it, "/label"));
    // The choices of several questions would be mixed up.
    let choices = if asked.len() == 1 { labels.collect() } else { Vec::new() };
    (!asked.is_empty()).then(|| (asked.join("\n"), choices))
}

/// What a tool of this program is for.
pub fn kind(tool: &str) -> ToolKind {
    match tool {
        "Read" | "NotebookRead" | "BashOutput" => ToolKind::Read,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Grep" | "Glob" | "LS" | "ToolSearch" => ToolKind::Search,
        "Bash" | "KillShell" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "TodoWrite" | "Task" | "TaskCreate" | "TaskUpdate" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

/// Not a sub-agent.
fn is_main(line: &Value) -> bool {
    line.pointer("/parent_tool_use_id").is_none_or(Value::is_null)
}

fn blocks(line: &Value) -> impl Iterator<Item = &Value> {
    line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
}

fn system(line: &Value, heard: &mut Vec<Heard>) {
    match text(line, "/subtype") {
        Some("init") => {
            heard.extend(owned(line, "/session_id").map(Heard::Session));
            heard.push(Heard::Hello {
                version: owned(line, "/claude_code_version"),
                model: owned(line, "/model"),
            });
        }
        Some("api_retry") => {
            let number =
                |pointer| line.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
            let (attempt, most) = (number("/attempt"), number("/max_retries"));
            let why = match number("/error_status") {
                0 => "the model cannot be reached".to_owned(),
                status => format!("the model answered {status}"),
            };
            heard.push(Heard::Trouble(format!("{why}; trying again ({attempt} of {most})")));
        }
        Some(_) | None => {}
    }
}

fn tool(block: &Value) -> Option<ToolNews> {
    let name = text(block, "/name")?;
    let input = block.pointer("/input").cloned().unwrap_or(Value::Null);
    let path = ["/file_path", "/notebook_path"].iter().find_map(|at| owned(&input, at));
    Some(ToolNews {
        title: Some(title(name, &input)),
        kind: Some(kind(name)),
        status: Some(ToolStatus::Running),
        input: readable(&input),
        paths: path.into_iter().collect(),
        ..ToolNews::of(text(block, "/id")?)
    })
}

fn title(tool: &str, input: &Value) -> String {
    let of = ["/command", "/file_path", "/notebook_path", "/pattern", "/url", "/description"];
    match of.iter().find_map(|at| text(input, at)) {
        Some(what) => format!("{tool}: {what}"),
        None => tool.to_owned(),
    }
}

fn results(line: &Value, heard: &mut Vec<Heard>) {
    for block in blocks(line).filter(|it| text(it, "/type") == Some("tool_result")) {
        let Some(id) = text(block, "/tool_use_id") else { continue };
        let failed = block.pointer("/is_error").and_then(Value::as_bool).unwrap_or_default();
        let status = if failed { ToolStatus::Failed } else { ToolStatus::Done };
        heard.push(Heard::Tool(ToolNews {
            status: Some(status),
            result: content(block.pointer("/content")),
            ..ToolNews::of(id)
        }));
    }
}

/// Text, or a list of texts.
fn content(value: Option<&Value>) -> Option<String> {
    let Some(Value::Array(parts)) = value else { return value.and_then(readable) };
    let texts: Vec<&str> = parts.iter().filter_map(|part| text(part, "/text")).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn result(line: &Value, heard: &mut Vec<Heard>) {
    heard.extend(owned(line, "/session_id").map(Heard::Session));
    let is_error = line.pointer("/is_error").and_then(Value::as_bool).unwrap_or(true);
    let reason = text(line, "/terminal_reason").unwrap_or_default();
    let status = line.pointer("/api_error_status").and_then(Value::as_u64);
    let status = status.and_then(|status| u16::try_from(status).ok());
    let said = owned(line, "/result").unwrap_or_else(|| reason.to_owned());
    let stop = text(line, "/stop_reason").unwrap_or_default();
    heard.push(Heard::Over(match (text(line, "/subtype"), reason) {
        (_, "aborted_streaming" | "aborted_tools") | (Some("error_during_execution"), "") => {
            Over::Cancelled
        }
        (Some("success"), _) if !is_error && stop == "refusal" => Over::Refused,
        (Some("success"), _) if !is_error && stop == "max_tokens" => {
            Over::CutShort("the model's answer reached its limit".to_owned())
        }
        (Some("success"), _) if !is_error => Over::Ended,
        (Some("error_max_turns"), _) => Over::CutShort("too many turns".to_owned()),
        (Some(_) | None, _) => Over::Failed { status, reason: said },
    }));
}
