//! Tells what was heard: numbers messages, joins pieces, remembers tools, and keeps the words that may be an answer.
//!
//! Programs speak in pieces of a few letters. A piece is held until there is a sentence's worth or a moment has passed, so
//! that a watcher sees it at once and a store is not flooded. Nothing is cut to its last length here: whoever cleans it of secrets does that.

use std::collections::BTreeMap;

use domain::{
    cost::Cost,
    transcript::{self, AgentEvent, ToolCall, ToolKind, ToolStatus, Verdict},
};
use tokio::sync::mpsc;

use crate::language::{Heard, ToolNews};

/// Bytes that are held back, at most.
const HELD: usize = 2 * 1024;

/// Bytes of a turn's text in which an answer is looked for: its end.
const ANSWER_LIMIT: usize = 1024 * 1024;

/// Tools whose state is remembered. A program that uses more at once is told about less well.
const TOOLS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Message,
    Thought,
}

#[derive(Debug)]
pub(crate) struct Teller {
    events: mpsc::Sender<AgentEvent>,
    /// Who speaks, and what is held of it.
    voice: Option<Voice>,
    held: String,
    number: u32,
    tools: BTreeMap<String, ToolCall>,
    /// What was said last in this turn.
    said: String,
    /// Whether what is said next begins another message.
    is_new: bool,
}

impl Teller {
    pub(crate) fn new(events: mpsc::Sender<AgentEvent>) -> Self {
        Self {
            events,
            voice: None,
            held: String::new(),
            number: 0,
            tools: BTreeMap::new(),
            said: String::new(),
            is_new: false,
        }
    }

    /// Tells an event as it is.
    pub(crate) async fn tell(&mut self, event: AgentEvent) {
        self.pause().await;
        self.voice = None;
        self.send(event).await;
    }

    /// Tells a text that is known as a whole, in parts.
    pub(crate) async fn briefed(&mut self, text: &str) {
        for (part, text) in (1..).zip(transcript::parts(text, transcript::LIMIT)) {
            self.tell(AgentEvent::Briefed { part, text: text.to_owned() }).await;
        }
    }

    pub(crate) async fn permission(&mut self, title: String, verdict: Verdict) {
        self.tell(AgentEvent::Permission { title, verdict }).await;
    }

    pub(crate) async fn used(&mut self, cost: Cost) {
        self.tell(AgentEvent::Usage(cost)).await;
    }

    /// Tells what was heard, where it is something to tell.
    pub(crate) async fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Text(piece) => self.speak(Voice::Message, &piece).await,
            Heard::Thought(piece) => self.speak(Voice::Thought, &piece).await,
            Heard::Break => {
                self.pause().await;
                self.voice = None;
            }
            Heard::Tool(news) => self.tool(news).await,
            Heard::Todo(items) => self.tell(AgentEvent::Todo { items }).await,
            Heard::Trouble(text) => self.tell(AgentEvent::Trouble { text }).await,
            // Told by those who know what follows from it.
            Heard::Hello { .. } | Heard::Session(_) | Heard::Question { .. } | Heard::Over(_) => {}
        }
    }

    /// Tells what is held back.
    pub(crate) async fn pause(&mut self) {
        let Some(voice) = self.voice else { return };
        let text = std::mem::take(&mut self.held);
        let number = self.number;
        for part in transcript::parts(&text, transcript::LIMIT) {
            let text = part.to_owned();
            self.send(match voice {
                Voice::Message => AgentEvent::Message { number, text },
                Voice::Thought => AgentEvent::Thought { number, text },
            })
            .await;
        }
    }

    /// The last message since this was asked last; of a very long one its end.
    pub(crate) fn take_said(&mut self) -> String {
        std::mem::take(&mut self.said)
    }

    async fn speak(&mut self, voice: Voice, piece: &str) {
        if self.voice != Some(voice) {
            self.pause().await;
            self.number += 1;
            self.is_new |= voice == Voice::Message;
            self.voice = Some(voice);
        }
        if voice == Voice::Message {
            self.remember(piece);
        }
        self.held.push_str(piece);
        if self.held.len() >= HELD {
            self.pause().await;
        }
    }

    /// The last message is the answer; one of nothing but spaces is none.
    fn remember(&mut self, piece: &str) {
        if self.is_new && !piece.trim().is_empty() {
            self.said.clear();
            self.is_new = false;
        }
        self.said.push_str(piece);
        if self.said.len() > 2 * ANSWER_LIMIT {
            let from = self.said.len() - ANSWER_LIMIT;
            let mut whole = from..self.said.len();
            let from = whole.find(|at| self.said.is_char_boundary(*at)).unwrap_or(from);
            self.said.drain(..from);
        }
    }

    async fn tool(&mut self, news: ToolNews) {
        let known = self.tools.remove(&news.id).unwrap_or_else(|| ToolCall {
            id: news.id.clone(),
            title: "a tool".to_owned(),
            kind: ToolKind::Other,
            status: ToolStatus::Running,
            input: None,
            result: None,
            paths: Vec::new(),
        });
        let before = known.status;
        let told = AgentEvent::ToolCall(news.onto(known)).roughly_bounded();
        let AgentEvent::ToolCall(call) = told else { return };
        self.tell(AgentEvent::ToolCall(call.clone())).await;
        let is_done = before == ToolStatus::Running && call.status == ToolStatus::Done;
        if is_done && call.kind == ToolKind::Edit {
            for path in &call.paths {
                self.tell(AgentEvent::FileChanged { path: path.clone() }).await;
            }
        }
        if call.status == ToolStatus::Running && self.tools.len() < TOOLS {
            self.tools.insert(call.id.clone(), call);
        }
    }

    async fn send(&self, event: AgentEvent) {
        // A watcher that has gone does not stop the agent.
        drop(self.events.send(event.roughly_bounded()).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(heard: Vec<Heard>) -> (Vec<AgentEvent>, String) {
        let (events, mut told) = mpsc::channel(1_000);
        let mut teller = Teller::new(events);
        for one in heard {
            teller.heard(one).await;
        }
        teller.pause().await;
        let said = teller.take_said();
        drop(teller);
        let mut all = Vec::new();
        while let Some(event) = told.recv().await {
            all.push(event);
        }
        (all, said)
    }

    #[tokio::test]
    async fn pieces_are_joined_until_somebody_else_speaks() {
        let text = |text: &str| Heard::Text(text.to_owned());
        let thought = Heard::Thought("hm".to_owned());
        let (events, said) =
            told(vec![text("I wi"), text("ll"), thought, text("Now"), Heard::Break, text("Then")])
                .await;
        let message = |number, text: &str| AgentEvent::Message { number, text: text.to_owned() };
        assert_eq!(
            events,
            [
                message(1, "I will"),
                AgentEvent::Thought { number: 2, text: "hm".to_owned() },
                message(3, "Now"),
                message(4, "Then"),
            ]
        );
        assert_eq!(said, "Then", "the last message is the answer");
    }

    #[tokio::test]
    async fn a_file_that_a_tool_changed_is_told_once() {
        let news = |status| {
            Heard::Tool(ToolNews {
                status: Some(status),
                kind: Some(ToolKind::Edit),
                paths: vec!["a.txt".to_owned()],
                ..ToolNews::of("1")
            })
        };
        let (events, _) = told(vec![news(ToolStatus::Running), news(ToolStatus::Done)]).await;
        let changed = events.iter().filter(|it| matches!(it, AgentEvent::FileChanged { .. }));
        assert_eq!(changed.count(), 1);
    }

    #[tokio::test]
    async fn of_a_flood_the_end_is_kept_as_an_answer() {
        let flood = (0..5_000).map(|_| Heard::Text("x".repeat(1_000)));
        let (events, mut receiver) = mpsc::channel::<AgentEvent>(16);
        let mut teller = Teller::new(events);
        let reading = async { while receiver.recv().await.is_some() {} };
        let speaking = async {
            for one in flood {
                teller.heard(one).await;
            }
            teller.heard(Heard::Text("the end".to_owned())).await;
            let said = teller.take_said();
            drop(teller);
            said
        };
        let (said, ()) = tokio::join!(speaking, reading);
        assert!(said.len() <= 2 * ANSWER_LIMIT && said.ends_with("the end"));
    }
}
