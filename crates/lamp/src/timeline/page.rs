//! Where the story of a task is told: on a terminal, as lines for a log, or as JSON for programs.
//!
//! | audience | gets |
//! |---|---|
//! | terminal | phases with their times, what agents do in between, and a status that moves |
//! | lines | a line for each event: its time, its name, words. The first two have no spaces |
//! | JSON | every item of the stream as it came, and the task at the end, one document on a line |

use std::io::{self, Write};

use serde::Serialize;
use terminal::colors::Colors;
use wire::task::{
    event::RecordedEvent, shown::Task, stream::StreamItem, transcript::TranscriptItem,
};

use super::{
    keyboard::Keyboard,
    plan::plan,
    screen::Screen,
    story::{self, Mark, Story},
    voice::Voice,
    words,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Terminal { columns: usize },
    Lines,
    Json,
}

/// For programs, at the beginning and at the end: how the task stands.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Whole<'t> {
    Task { task: &'t Task },
}

pub(crate) struct Page<'w> {
    audience: Audience,
    colors: Colors,
    story: Story,
    voice: Voice,
    screen: Screen,
    out: &'w mut dyn Write,
}

impl<'w> Page<'w> {
    pub(crate) fn new(audience: Audience, colors: Colors, out: &'w mut dyn Write) -> Self {
        let (story, voice, screen) = (Story::default(), Voice::default(), Screen::default());
        Self { audience, colors, story, voice, screen, out }
    }

    /// Whether a status is drawn that moves.
    pub(crate) const fn moves(&self) -> bool {
        matches!(self.audience, Audience::Terminal { .. })
    }

    pub(crate) fn item(&mut self, item: &StreamItem) -> anyhow::Result<()> {
        if self.audience == Audience::Json {
            if !matches!(item, StreamItem::Heartbeat { .. }) {
                writeln!(self.out, "{}", words::json_line(item)?)?;
            }
        } else {
            match item {
                StreamItem::Event { event, .. } => self.event(event)?,
                StreamItem::Transcript { item, .. } => self.said(item)?,
                StreamItem::Heartbeat { .. }
                | StreamItem::End { .. }
                | StreamItem::Failed { .. } => {}
            }
        }
        Ok(self.out.flush()?)
    }

    fn event(&mut self, event: &RecordedEvent) -> io::Result<()> {
        let moment = self.story.tell(event);
        let rest = self.voice.pause();
        match self.audience {
            Audience::Json => Ok(()),
            Audience::Lines => {
                if let Some(line) = rest {
                    writeln!(self.out, "{}  {:<19}  {}", event.at, line.kind, line.text)?;
                }
                let words = words::line(&moment.words, usize::MAX);
                writeln!(self.out, "{}  {:<19}  {words}", event.at, story::kind(&event.event))
            }
            Audience::Terminal { columns } => {
                self.screen.clear(self.out)?;
                if let Some(line) = rest {
                    spoken(self.out, self.colors, columns, &line.text)?;
                }
                if moment.mark == Mark::Quiet {
                    return Ok(());
                }
                let colors = self.colors;
                let mark = match moment.mark {
                    Mark::Good => colors.good("✓"),
                    Mark::Bad => colors.bad("✗"),
                    Mark::Waits => colors.warning("?"),
                    Mark::Note | Mark::Quiet => colors.weak("·"),
                };
                let took = moment.took.map(words::took).unwrap_or_default();
                let what = colors.strong(format!("{:<9}", moment.what));
                writeln!(self.out, "{mark} {what} {took:>7}  {}", moment.words)?;
                for line in moment.body.lines() {
                    writeln!(self.out, "  {line}")?;
                }
                Ok(())
            }
        }
    }

    fn said(&mut self, item: &TranscriptItem) -> io::Result<()> {
        for line in self.voice.hear(item) {
            match self.audience {
                Audience::Json => {}
                Audience::Lines => {
                    writeln!(self.out, "{}  {:<19}  {}", item.at, line.kind, line.text)?;
                }
                Audience::Terminal { columns } => {
                    self.screen.clear(self.out)?;
                    let text = [line.mark, &line.text].join(" ");
                    spoken(self.out, self.colors, columns, text.trim_start())?;
                }
            }
        }
        Ok(())
    }

    /// What is waited for, with a sign that moves.
    pub(crate) fn status(&mut self, status: &str) -> io::Result<()> {
        match self.audience {
            Audience::Terminal { columns } => self.screen.draw(status, columns, self.out),
            Audience::Lines | Audience::Json => Ok(()),
        }
    }

    /// Something for people, as it is.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.screen.clear(self.out)?;
        if self.audience != Audience::Json {
            self.out.write_all(text.as_bytes())?;
        }
        self.out.flush()
    }

    /// Asks the person who watches.
    pub(super) async fn ask(
        &mut self,
        keyboard: &mut Keyboard,
        question: &str,
    ) -> anyhow::Result<Option<String>> {
        self.screen.clear(self.out)?;
        keyboard.ask(question, self.out).await
    }

    /// A whole plan, where a person can read it.
    pub(crate) fn plan(&mut self, shown: &wire::task::plan::Plan) -> io::Result<()> {
        match self.audience {
            Audience::Terminal { .. } => {
                let text = format!("\n{}\n", plan(shown, self.colors));
                self.text(&text)
            }
            Audience::Lines | Audience::Json => Ok(()),
        }
    }

    /// How the task stands, for programs.
    pub(crate) fn task(&mut self, task: &Task) -> anyhow::Result<()> {
        self.screen.clear(self.out)?;
        if self.audience == Audience::Json {
            writeln!(self.out, "{}", words::json_line(&Whole::Task { task })?)?;
        }
        Ok(self.out.flush()?)
    }
}

fn spoken(out: &mut dyn Write, colors: Colors, columns: usize, text: &str) -> io::Result<()> {
    let text = words::cut(text, columns.saturating_sub(5).max(20));
    writeln!(out, "    {}", colors.weak(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    fn told(audience: Audience) -> String {
        let mut out = Vec::new();
        let mut page = Page::new(audience, Colors::OFF, &mut out);
        for item in samples::journey() {
            page.item(&item).unwrap();
        }
        page.task(&samples::pull_request_open()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_journey_on_a_terminal_is_phases_with_their_times() {
        insta::assert_snapshot!(told(Audience::Terminal { columns: 100 }));
    }

    #[test]
    fn a_journey_in_a_log_is_a_line_for_each_event() {
        let text = told(Audience::Lines);
        for line in text.lines() {
            let mut fields = line.split("  ");
            assert!(fields.next().unwrap().ends_with('Z'), "{line}");
            assert!(!fields.next().unwrap().trim().contains(' '), "{line}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_journey_for_programs_is_documents_on_lines() {
        let text = told(Audience::Json);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), samples::journey().len() + 1);
        assert_eq!(lines.last().unwrap()["type"], "task");
    }
}
