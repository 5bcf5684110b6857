//! The log that a failure is told with (PL8): what the failing checks printed, what the reviewer found, or what the agent said last.
//!
//! The rules say that a task stops, and know of no logs; most steps bring one. For the others it is looked for here, in what was kept
//! already without the values of secrets. Where nothing is found, nothing is told: a failure is never held up for its log.

use domain::{
    task::Event,
    transcript::{AgentEvent, ToolCall},
};
use store::Lease;

use crate::{
    Engine, Hands,
    record::{CheckRecord, ChecksRecord, ReviewFinding, ReviewRecord},
};

/// Events of a transcript that are looked at: more than enough for the lines that a failure keeps.
const END: i64 = 200;

/// The same events, each failure with its log.
pub(crate) async fn added<H: Hands>(
    engine: &Engine<H>,
    lease: &Lease,
    events: Vec<Event>,
) -> Vec<Event> {
    let mut told = Vec::with_capacity(events.len());
    for event in events {
        let is_bare = event.failure().is_some_and(|failure| failure.last_lines.is_empty());
        let log = if is_bare { log(engine, lease, &event).await } else { String::new() };
        told.push(event.with_log(&log));
    }
    told
}

async fn log<H: Hands>(engine: &Engine<H>, lease: &Lease, event: &Event) -> String {
    let read = |digest| engine.store.blobs().get(digest).ok();
    if let Event::ChecksFailed { evidence, .. } = event {
        let record = read(*evidence).and_then(|bytes| ChecksRecord::read(&bytes).ok());
        return record.map(|record| printed(&record)).unwrap_or_default();
    }
    if let Event::ReviewFoundFaults { evidence, .. } = event {
        let record = read(*evidence).and_then(|bytes| ReviewRecord::read(&bytes).ok());
        let findings = record.map(|it| it.findings).unwrap_or_default();
        return findings.iter().map(ReviewFinding::sentence).collect::<Vec<_>>().join("\n");
    }
    let said = engine.store.transcript_end(lease.task, END).await.unwrap_or_default();
    // Whoever tried it before has said the same, or something else that does not count.
    let newest = said.last().map(|last| last.attempt);
    let ours = said.into_iter().filter(|it| it.run == lease.seq && Some(it.attempt) == newest);
    spoken(ours.map(|said| said.event))
}

/// What the checks printed that keep the change from going on.
fn printed(record: &ChecksRecord) -> String {
    let blocking = record.checks.iter().filter(|check| check.blocks);
    let logs = blocking.map(|CheckRecord { command, log, .. }| format!("$ {command}\n{log}"));
    logs.collect::<Vec<_>>().join("\n")
}

/// What an agent said and did, as lines.
fn spoken(events: impl Iterator<Item = AgentEvent>) -> String {
    let mut text = String::new();
    let mut open = None;
    for event in events {
        let (number, said) = match event {
            AgentEvent::Message { number, text } => (Some(number), text),
            AgentEvent::ToolCall(ToolCall { title, result, .. }) => {
                (None, format!("> {title}\n{}", result.unwrap_or_default()))
            }
            AgentEvent::Trouble { text } => (None, text),
            AgentEvent::Briefed { .. }
            | AgentEvent::Started { .. }
            | AgentEvent::Thought { .. }
            | AgentEvent::FileChanged { .. }
            | AgentEvent::Todo { .. }
            | AgentEvent::Permission { .. }
            | AgentEvent::Question { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Finished { .. } => continue,
        };
        // Parts with one number are one message.
        if (number.is_none() || number != open) && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&said);
        open = number;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_message_are_one_line_and_messages_are_several() {
        let message = |number, text: &str| AgentEvent::Message { number, text: text.to_owned() };
        let trouble = AgentEvent::Trouble { text: "no room".to_owned() };
        let said = [message(1, "I rea"), message(1, "d."), message(2, "I write."), trouble];
        assert_eq!(spoken(said.into_iter()), "I read.\nI write.\nno room");
    }
}
