//! What the agents say and do, told as it comes: a line for each step, nothing that a terminal would obey.

use std::io::{self, Write};

use terminal::{
    clean::Cleaner,
    colors::{Colors, Stream},
};
use wire::agent::{AgentEvent, ToolKind, ToolStatus};

/// Lines of one message that are shown.
const LINES: usize = 14;

/// Characters of one line that are shown.
const WIDTH: usize = 160;

/// Puts messages together from their parts, and tells each when it is whole.
#[derive(Debug, Default)]
pub(crate) struct Voice {
    number: Option<u32>,
    message: String,
}

impl Voice {
    pub(crate) fn hear(
        &mut self,
        event: &AgentEvent,
        colors: Colors,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match event {
            AgentEvent::Message { number, text } => {
                if self.number != Some(*number) {
                    self.pause(out)?;
                }
                self.number = Some(*number);
                self.message.push_str(text);
                Ok(())
            }
            AgentEvent::ToolCall { title, tool, status, result, .. } => {
                let outcome = match status {
                    ToolStatus::Running => return Ok(()),
                    ToolStatus::Done => exit_code(*tool, result.as_deref()),
                    ToolStatus::Failed => Some(
                        exit_code(*tool, result.as_deref()).unwrap_or_else(|| "failed".to_owned()),
                    ),
                };
                self.pause(out)?;
                let mark = if *tool == ToolKind::Execute { "$" } else { ">" };
                let line = format!("{mark} {}", shortened(title));
                let outcome = outcome.map_or(String::new(), |it| format!("   ({it})"));
                writeln!(out, "    {}{outcome}", colors.weak(line))
            }
            AgentEvent::Trouble { text } => {
                self.pause(out)?;
                writeln!(out, "    {}", colors.warning(shortened(text)))
            }
            AgentEvent::Finished { .. } => self.pause(out),
            AgentEvent::Briefed { .. }
            | AgentEvent::Started { .. }
            | AgentEvent::Thought { .. }
            | AgentEvent::FileChanged { .. }
            | AgentEvent::Todo { .. }
            | AgentEvent::Permission { .. }
            | AgentEvent::Question { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Usage(_) => Ok(()),
        }
    }

    /// Tells what was said so far.
    pub(crate) fn pause(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.number = None;
        let said = std::mem::take(&mut self.message);
        // What is for the platform is shown as what it becomes: a plan, a review.
        let words = said.split("```lamp-answer").next().unwrap_or_default();
        let lines: Vec<&str> = words.trim().lines().collect();
        for line in lines.iter().take(LINES).filter(|line| !line.is_empty()) {
            writeln!(out, "    {}", shortened(line))?;
        }
        if let Some(more) = lines.len().checked_sub(LINES).filter(|more| *more > 0) {
            writeln!(out, "    [{more} more lines]")?;
        }
        Ok(())
    }
}

/// How a command ended, as the built-in agent writes it.
fn exit_code(tool: ToolKind, result: Option<&str>) -> Option<String> {
    let first = result.unwrap_or_default().lines().next()?;
    let is_told = tool == ToolKind::Execute && first.starts_with("exit code ");
    is_told.then(|| shortened(first))
}

/// One line without anything that a terminal would obey.
pub(crate) fn shortened(text: &str) -> String {
    let line = clean(text).replace(['\n', '\r', '\t'], " ");
    let mut shown: String = line.chars().take(WIDTH).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

/// The same of several lines.
pub(crate) fn clean(text: &str) -> String {
    let cleaned = Cleaner::of(Stream::Terminal).clean(text.as_bytes()).into_owned();
    String::from_utf8(cleaned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(title: &str, tool: ToolKind, status: ToolStatus, result: &str) -> AgentEvent {
        AgentEvent::ToolCall {
            id: "1".to_owned(),
            title: title.to_owned(),
            tool,
            status,
            input: None,
            result: Some(result.to_owned()),
            paths: Vec::new(),
        }
    }

    fn message(number: u32, text: &str) -> AgentEvent {
        AgentEvent::Message { number, text: text.to_owned() }
    }

    fn told(events: &[AgentEvent]) -> String {
        let (mut voice, mut out) = (Voice::default(), Vec::new());
        for event in events {
            voice.hear(event, Colors::OFF, &mut out).unwrap();
        }
        voice.pause(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn steps_are_told_as_they_come() {
        let text = told(&[
            message(1, "I look "),
            message(1, "first.\n\n"),
            call("read lamps.py", ToolKind::Read, ToolStatus::Running, ""),
            call("read lamps.py", ToolKind::Read, ToolStatus::Done, "    1\texit code 9"),
            call("make test", ToolKind::Execute, ToolStatus::Failed, "exit code 2\nno"),
            call("edit x", ToolKind::Edit, ToolStatus::Failed, ""),
            message(2, "It is done.\n```lamp-answer\n{\"change\": {}}\n```"),
        ]);
        insta::assert_snapshot!(text, @r"
        I look first.
        > read lamps.py
        $ make test   (exit code 2)
        > edit x   (failed)
        It is done.
        ");
    }

    #[test]
    fn what_an_agent_says_cannot_speak_to_the_terminal() {
        let long = "x".repeat(1000);
        let text = told(&[
            message(1, "\u{1b}]0;title\u{7}\rhidden"),
            call(&format!("ls\n\u{1b}[2J{long}"), ToolKind::Execute, ToolStatus::Done, ""),
            message(2, &"line\n".repeat(100)),
        ]);
        assert!(!text.contains(['\u{1b}', '\u{7}', '\r']), "{text:?}");
        assert!(text.lines().all(|line| line.chars().count() < 200) && text.lines().count() < 25);
        assert!(text.contains("[86 more lines]"), "{text}");
    }
}
