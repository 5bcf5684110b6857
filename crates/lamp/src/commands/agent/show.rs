//! What an agent does, for people: one line for each thing, its words as they are.

use std::io::Write;

use terminal::{clean::Cleaner, colors::Stream};
use wire::agent::{
    AgentAnswer, AgentEnding, AgentEvent, AgentOutcome, AgentUsage, TodoState, ToolStatus,
};

use crate::timeline::block::Words;

/// Tells events to a person, in their order.
#[derive(Debug)]
pub(super) struct Show {
    cleaner: Cleaner,
    /// The message or thought that is being told.
    speaking: Option<(bool, u32)>,
    words: Words,
    /// The tool that was told last, so that its news do not repeat it.
    tool: Option<(String, String)>,
}

impl Show {
    pub(super) fn new(stream: Stream) -> Self {
        Self { cleaner: Cleaner::of(stream), speaking: None, words: Words::default(), tool: None }
    }

    pub(super) fn event(
        &mut self,
        event: &AgentEvent,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        match event {
            // The first is long and kept with the run; the second is as it should be.
            AgentEvent::Briefed { .. } | AgentEvent::Permission { allowed: true, .. } => Ok(()),
            AgentEvent::Message { number, text } => self.speak((true, *number), text, out),
            AgentEvent::Thought { number, text } => self.speak((false, *number), text, out),
            AgentEvent::Started { program, version, model, session } => {
                let of = |what: &str, it: &Option<String>| {
                    it.as_ref().map(|it| format!(", {what} {it}")).unwrap_or_default()
                };
                let rest = [of("version", version), of("model", model), of("session", session)];
                self.line(&format!("* {program} works{}", rest.concat()), out)
            }
            AgentEvent::ToolCall { id, title, status, result, .. } => match status {
                ToolStatus::Running => {
                    let told = Some((id.clone(), title.clone()));
                    if self.tool == told {
                        return Ok(());
                    }
                    self.tool = told;
                    self.line(&format!("> {title}"), out)
                }
                ToolStatus::Done => Ok(()),
                ToolStatus::Failed => {
                    let why = result.as_ref().and_then(|it| it.lines().last()).unwrap_or_default();
                    self.line(&format!("! {title}: {why}"), out)
                }
            },
            AgentEvent::FileChanged { path } => self.line(&format!("+ {path}"), out),
            AgentEvent::Todo { items } => {
                for item in items {
                    let mark = match item.state {
                        TodoState::Waiting => "[ ]",
                        TodoState::Doing => "[>]",
                        TodoState::Done => "[x]",
                    };
                    self.line(&format!("  {mark} {}", item.text), out)?;
                }
                Ok(())
            }
            AgentEvent::Permission { title, .. } => self.line(&format!("! denied: {title}"), out),
            AgentEvent::Question { text, choices } => {
                self.line(&format!("? {text}"), out)?;
                for choice in choices {
                    self.line(&format!("    - {choice}"), out)?;
                }
                Ok(())
            }
            AgentEvent::Heard { text } => self.line(&format!("< {text}"), out),
            AgentEvent::Usage(usage) => self.line(&used(usage), out),
            AgentEvent::Trouble { text } => self.line(&format!("! {text}"), out),
            AgentEvent::Finished { ending, .. } => {
                let how = match ending {
                    AgentEnding::Answered => "It has answered.".to_owned(),
                    AgentEnding::Asked => "It waits for an answer.".to_owned(),
                    // The error that follows says why.
                    AgentEnding::Stopped => return self.end(out),
                };
                self.line(&format!("* {how}"), out)
            }
        }
    }

    /// The answer itself, where it is more than that the work is done.
    pub(super) fn outcome(
        &mut self,
        outcome: &AgentOutcome,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        match &outcome.answer {
            // The question stands above; where the change is is said by whoever knows.
            AgentAnswer::Question { .. } | AgentAnswer::Change {} => Ok(()),
            AgentAnswer::Notes { text } => {
                self.end(out)?;
                out.write_all(&self.cleaner.clean(text.trim_end().as_bytes()))?;
                writeln!(out)?;
                out.flush()
            }
            AgentAnswer::Plan(plan) => {
                self.line(&format!("Plan: {}", plan.summary), out)?;
                for file in &plan.files {
                    self.line(&format!("  {}: {}", file.path, file.why), out)?;
                }
                self.line(&format!("  then: {}", plan.expected_behaviour), out)
            }
            AgentAnswer::Review { findings } if findings.is_empty() => {
                self.line("The review found nothing.", out)
            }
            AgentAnswer::Review { findings } => {
                for it in findings {
                    self.line(
                        &format!("{}:{}: {} ({})", it.path, it.line, it.what, it.failing_input),
                        out,
                    )?;
                }
                Ok(())
            }
        }
    }

    fn speak(&mut self, who: (bool, u32), text: &str, out: &mut impl Write) -> std::io::Result<()> {
        if self.speaking != Some(who) {
            self.end(out)?;
            self.speaking = Some(who);
            if !who.0 {
                write!(out, "~ ")?;
            }
        }
        let told = self.words.feed(text);
        out.write_all(&self.cleaner.clean(told.as_bytes()))?;
        out.flush()
    }

    fn line(&mut self, text: &str, out: &mut impl Write) -> std::io::Result<()> {
        self.end(out)?;
        let line = text.replace('\n', "\n  ");
        out.write_all(&self.cleaner.clean(line.as_bytes()))?;
        writeln!(out)?;
        out.flush()
    }

    fn end(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        if self.speaking.take().is_none() {
            return Ok(());
        }
        let rest = self.words.finish();
        out.write_all(&self.cleaner.clean(rest.as_bytes()))?;
        writeln!(out)
    }
}

fn used(usage: &AgentUsage) -> String {
    let AgentUsage { cost_micros, input_tokens, output_tokens } = usage;
    let money = domain::money::Money::from_micros(*cost_micros);
    format!("* {input_tokens} tokens in, {output_tokens} out, {money}")
}
