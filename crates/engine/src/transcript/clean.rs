//! Texts of agents without values of secrets.
//!
//! Messages, thoughts and briefings come in parts, and a value may begin in one part and end in the next. So each of them
//! is cleaned as one text: what may be the beginning of a value waits until more of the text has come, or another begins. A
//! briefing is told in one go, so everything else ends it; between two parts of a message anything may happen.

use std::sync::Arc;

use contracts::agent::{Answer, Finding};
use domain::{
    plan::{FileChange, Plan},
    transcript::{AgentEvent, LIMIT, parts},
};

use crate::redactor::{Cleaner, Redactor};

/// A text that comes in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growing {
    Briefed,
    Message,
    Thought,
}

impl Growing {
    const fn event(self, number: u32, text: String) -> AgentEvent {
        match self {
            Self::Briefed => AgentEvent::Briefed { part: number, text },
            Self::Message => AgentEvent::Message { number, text },
            Self::Thought => AgentEvent::Thought { number, text },
        }
    }
}

/// A text of which more may come.
struct Open {
    kind: Growing,
    number: u32,
    cleaner: Box<dyn Cleaner>,
}

/// Cleans the events of one run, in their order.
pub(super) struct Clean {
    redactor: Arc<dyn Redactor>,
    /// At most one of each kind.
    open: Vec<Open>,
}

impl Clean {
    pub(super) fn new(redactor: Arc<dyn Redactor>) -> Self {
        Self { redactor, open: Vec::new() }
    }

    /// What is certain after `event`. Cleaned before it is shortened: half of a value would not be known for one.
    pub(super) fn feed(&mut self, event: AgentEvent) -> Vec<AgentEvent> {
        let mut events = match &event {
            AgentEvent::Briefed { .. } => Vec::new(),
            AgentEvent::Started { .. }
            | AgentEvent::Message { .. }
            | AgentEvent::Thought { .. }
            | AgentEvent::ToolCall(_)
            | AgentEvent::FileChanged { .. }
            | AgentEvent::Todo { .. }
            | AgentEvent::Permission { .. }
            | AgentEvent::Question { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Trouble { .. }
            | AgentEvent::Finished { .. } => self.close_if(|open| open.kind == Growing::Briefed),
        };
        events.extend(self.cleaned(event));
        events
    }

    fn cleaned(&mut self, event: AgentEvent) -> Vec<AgentEvent> {
        match event {
            AgentEvent::Briefed { part, text } => self.grow(Growing::Briefed, part, &text),
            AgentEvent::Message { number, text } => self.grow(Growing::Message, number, &text),
            AgentEvent::Thought { number, text } => self.grow(Growing::Thought, number, &text),
            whole @ (AgentEvent::Started { .. }
            | AgentEvent::ToolCall(_)
            | AgentEvent::FileChanged { .. }
            | AgentEvent::Todo { .. }
            | AgentEvent::Permission { .. }
            | AgentEvent::Question { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Trouble { .. }) => vec![self.whole(whole).bounded()],
            // Nothing comes after it.
            finished @ AgentEvent::Finished { .. } => {
                let mut events = self.finish();
                events.push(self.whole(finished).bounded());
                events
            }
        }
    }

    /// What is still held back.
    pub(super) fn finish(&mut self) -> Vec<AgentEvent> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().flat_map(close).collect()
    }

    /// What is held back and too short to tell anything, for those who watch.
    pub(super) fn release(&mut self) -> Vec<AgentEvent> {
        let release = |open: &mut Open| in_parts(open.kind, open.number, &open.cleaner.release());
        self.open.iter_mut().flat_map(release).collect()
    }

    /// The rest of a text of which no more will come.
    fn close_if(&mut self, over: impl Fn(&Open) -> bool) -> Vec<AgentEvent> {
        match self.open.iter().position(over) {
            Some(index) => close(self.open.remove(index)),
            None => Vec::new(),
        }
    }

    fn grow(&mut self, kind: Growing, number: u32, text: &str) -> Vec<AgentEvent> {
        let mut events = match kind {
            Growing::Briefed => Vec::new(),
            Growing::Message | Growing::Thought => {
                self.close_if(|open| open.kind == kind && open.number != number)
            }
        };
        let known = self.open.iter_mut().find(|open| open.kind == kind);
        let clean = if let Some(open) = known {
            open.number = number;
            open.cleaner.feed(text)
        } else {
            let mut cleaner = self.redactor.parts();
            let clean = cleaner.feed(text);
            self.open.push(Open { kind, number, cleaner });
            clean
        };
        events.extend(in_parts(kind, number, &clean));
        events
    }

    fn whole(&self, mut event: AgentEvent) -> AgentEvent {
        for text in event.texts_mut() {
            *text = self.redactor.clean(text);
        }
        event
    }
}

fn close(mut open: Open) -> Vec<AgentEvent> {
    let rest = open.cleaner.finish();
    in_parts(open.kind, open.number, &rest)
}

fn in_parts(kind: Growing, number: u32, text: &str) -> Vec<AgentEvent> {
    parts(text, LIMIT).into_iter().map(|part| kind.event(number, part.to_owned())).collect()
}

/// What a run came to, without values: it becomes events of the task, evidence, and words to people.
pub(crate) fn answer(redactor: &dyn Redactor, answer: Answer) -> Answer {
    let text = |text: String| redactor.clean(&text);
    let texts = |texts: Vec<String>| texts.iter().map(|text| redactor.clean(text)).collect();
    match answer {
        Answer::Question { text: asked, choices } => {
            Answer::Question { text: text(asked), choices: texts(choices) }
        }
        Answer::Notes(notes) => Answer::Notes(text(notes)),
        Answer::Plan(plan) => Answer::Plan(Plan {
            summary: text(plan.summary),
            files: plan
                .files
                .into_iter()
                .map(|file| FileChange { path: text(file.path), why: text(file.why) })
                .collect(),
            tests: texts(plan.tests),
            expected_behaviour: text(plan.expected_behaviour),
            commands: texts(plan.commands),
            hosts: texts(plan.hosts),
            risks: texts(plan.risks),
            estimate: plan.estimate,
        }),
        Answer::Change => Answer::Change,
        Answer::Review(findings) => {
            let clean = |finding: Finding| Finding {
                path: text(finding.path),
                line: finding.line,
                what: text(finding.what),
                failing_input: text(finding.failing_input),
            };
            Answer::Review(findings.into_iter().map(clean).collect())
        }
    }
}

#[cfg(test)]
#[path = "clean_tests.rs"]
mod tests;
