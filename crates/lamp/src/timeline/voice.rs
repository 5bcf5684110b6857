//! What agents say and do, a line for each thing. Their words are told line by line, without the block that answers the platform.

use wire::{
    agent::{AgentEvent, TodoState, ToolKind, ToolStatus},
    task::transcript::TranscriptItem,
};

use super::words;
use crate::timeline::block::Words;

/// Characters of one line.
const WIDTH: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// A stable name for programs, such as `agent.tool`.
    pub(crate) kind: &'static str,
    /// What stands before it on a terminal.
    pub(crate) mark: &'static str,
    pub(crate) text: String,
}

/// Which message of which run is being told.
type Speaker = (u64, u64, u32);

#[derive(Debug, Default)]
pub(crate) struct Voice {
    speaking: Option<Speaker>,
    words: Words,
    /// A line that has not come to its end.
    begun: String,
    /// The tool that was told last, so that its news do not repeat it.
    tool: Option<(String, String)>,
}

impl Voice {
    pub(crate) fn hear(&mut self, item: &TranscriptItem) -> Vec<Line> {
        let mut lines = Vec::new();
        if let AgentEvent::Message { number, text } = &item.event {
            let speaker = (item.run, item.attempt, *number);
            if self.speaking != Some(speaker) {
                lines.extend(self.pause());
                self.speaking = Some(speaker);
            }
            let told = self.words.feed(text);
            self.begun.push_str(&told);
            while let Some((whole, rest)) = self.begun.split_once('\n') {
                lines.extend(message(whole));
                self.begun = rest.to_owned();
            }
            // A line without an end is told in pieces rather than kept.
            if self.begun.len() > 8 * WIDTH {
                lines.extend(message(&std::mem::take(&mut self.begun)));
            }
            return lines;
        }
        let other = self.other(&item.event);
        if !other.is_empty() {
            lines.extend(self.pause());
        }
        lines.extend(other);
        lines
    }

    /// What was said so far, when nothing more comes for now.
    pub(crate) fn pause(&mut self) -> Option<Line> {
        self.speaking.take()?;
        let rest = self.words.finish();
        let begun = std::mem::take(&mut self.begun);
        message(&format!("{begun}{rest}"))
    }

    fn other(&mut self, event: &AgentEvent) -> Vec<Line> {
        let one = |kind, mark, text: &str| vec![line(kind, mark, text)];
        match event {
            // What it was told is kept with the task; thoughts are in `--json`; the rest is told by the task's own events.
            AgentEvent::Briefed { .. }
            | AgentEvent::Message { .. }
            | AgentEvent::Thought { .. }
            | AgentEvent::Question { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Finished { .. }
            | AgentEvent::Permission { allowed: true, .. } => Vec::new(),
            AgentEvent::Started { program, version, model, .. } => {
                let version = version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
                let model = model.as_ref().map(|it| format!(", model {it}")).unwrap_or_default();
                one("agent.started", "*", &format!("{program}{version} works{model}"))
            }
            AgentEvent::ToolCall { id, title, tool, status, result, .. } => match status {
                ToolStatus::Running | ToolStatus::Done => {
                    let told = Some((id.clone(), title.clone()));
                    if self.tool == told {
                        return Vec::new();
                    }
                    self.tool = told;
                    let mark = if *tool == ToolKind::Execute { "$" } else { ">" };
                    one("agent.tool", mark, &words::exact(title))
                }
                ToolStatus::Failed => {
                    let why = result.as_ref().and_then(|it| it.lines().last()).unwrap_or_default();
                    one("agent.tool_failed", "!", &format!("{title}: {why}"))
                }
            },
            AgentEvent::FileChanged { path } => one("agent.file", "+", path),
            AgentEvent::Todo { items } => items
                .iter()
                .map(|item| {
                    let mark = match item.state {
                        TodoState::Waiting => "[ ]",
                        TodoState::Doing => "[>]",
                        TodoState::Done => "[x]",
                    };
                    line("agent.todo", mark, &item.text)
                })
                .collect(),
            AgentEvent::Permission { title, .. } => {
                one("agent.denied", "!", &format!("denied: {title}"))
            }
            AgentEvent::Heard { text } => one("agent.heard", "<", text),
            AgentEvent::Trouble { text } => one("agent.trouble", "!", text),
        }
    }
}

fn message(text: &str) -> Option<Line> {
    (!text.trim().is_empty()).then(|| line("agent.message", "", text))
}

fn line(kind: &'static str, mark: &'static str, text: &str) -> Line {
    Line { kind, mark, text: words::line(text, WIDTH) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples::said;

    fn told(events: Vec<AgentEvent>) -> String {
        let mut voice = Voice::default();
        let mut lines: Vec<Line> = events
            .into_iter()
            .zip(1..)
            .flat_map(|(event, at)| voice.hear(&said(at, event)))
            .collect();
        lines.extend(voice.pause());
        let mut text = String::new();
        for Line { kind, mark, text: words } in &lines {
            crate::timeline::put::put_line!(text, "{kind:<18} {mark:<3} {words}");
        }
        text
    }

    #[test]
    fn an_agent_at_work_is_told_line_by_line() {
        insta::assert_snapshot!(told(crate::timeline::samples::agent_at_work()));
    }

    #[test]
    fn no_line_is_kept_back_for_ever() {
        let long = AgentEvent::Message { number: 1, text: "x".repeat(10_000) };
        let mut voice = Voice::default();
        assert_eq!(voice.hear(&said(1, long)).len(), 1);
        assert!(voice.begun.is_empty());
    }
}
