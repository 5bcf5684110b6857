//! Takes values of secrets out of what agents say.
//!
//! Most texts of an event are whole and are cleaned as such. Messages and thoughts come in parts, and a value may begin in one and end in
//! the next; so they go through a cleaner that holds back what may be a beginning, and the rest is told before anything else is. Events are cut to
//! their length after that: half a value would not be found.

use contracts::agent::AgentEvent;

use crate::sockets::{Cleaned, NotCleaned, Values};

/// Who speaks in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Message(u32),
    Thought(u32),
    Brief,
}

struct Speaking {
    voice: Voice,
    cleaner: Box<dyn Cleaned>,
    /// The beginning of a letter.
    half: Vec<u8>,
    part: u32,
}

pub(crate) struct Spoken<'a> {
    values: &'a dyn Values,
    speaking: Option<Speaking>,
}

impl<'a> Spoken<'a> {
    pub(crate) fn new(values: &'a dyn Values) -> Self {
        Self { values, speaking: None }
    }

    /// The same, without values. What was held back comes before it.
    pub(crate) fn clean(&mut self, event: AgentEvent) -> Result<Vec<AgentEvent>, NotCleaned> {
        let (voice, part, text) = match event {
            AgentEvent::Message { number, text } => (Voice::Message(number), 1, text),
            AgentEvent::Thought { number, text } => (Voice::Thought(number), 1, text),
            AgentEvent::Briefed { part, text } => (Voice::Brief, part, text),
            whole @ (AgentEvent::Started { .. }
            | AgentEvent::ToolCall(_)
            | AgentEvent::FileChanged { .. }
            | AgentEvent::Todo { .. }
            | AgentEvent::Permission { .. }
            | AgentEvent::Question { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Trouble { .. }
            | AgentEvent::Finished { .. }) => {
                let mut told = self.finish();
                told.push(self.whole(whole).bounded());
                return Ok(told);
            }
        };
        let mut told = Vec::new();
        if self.speaking.as_ref().is_some_and(|speaking| speaking.voice != voice) {
            told = self.finish();
        }
        if self.speaking.is_none() {
            let Some(cleaner) = self.values.stream()? else {
                // There is nothing to take out.
                told.push(voice.event(part, text));
                return Ok(told);
            };
            self.speaking = Some(Speaking { voice, cleaner, half: Vec::new(), part: 0 });
        }
        if let Some(speaking) = &mut self.speaking {
            let bytes = speaking.cleaner.feed(text.as_bytes());
            told.extend(speaking.tell(bytes));
        }
        Ok(told)
    }

    /// What is still held back.
    pub(crate) fn finish(&mut self) -> Vec<AgentEvent> {
        let Some(mut speaking) = self.speaking.take() else { return Vec::new() };
        let bytes = speaking.cleaner.finish();
        let mut told: Vec<AgentEvent> = speaking.tell(bytes).into_iter().collect();
        if !speaking.half.is_empty() {
            let rest = String::from_utf8_lossy(&speaking.half).into_owned();
            told.push(speaking.voice.event(speaking.part + 1, rest));
        }
        told
    }

    fn whole(&self, mut event: AgentEvent) -> AgentEvent {
        for text in event.texts_mut() {
            *text = self.values.text(text).into_owned();
        }
        event
    }
}

impl Speaking {
    fn tell(&mut self, bytes: Vec<u8>) -> Option<AgentEvent> {
        self.half.extend(bytes);
        let whole = match std::str::from_utf8(&self.half) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.half.split_off(whole);
        let text = String::from_utf8(std::mem::replace(&mut self.half, rest)).unwrap_or_default();
        if text.is_empty() {
            return None;
        }
        self.part += 1;
        Some(self.voice.event(self.part, text))
    }
}

impl Voice {
    const fn event(self, part: u32, text: String) -> AgentEvent {
        match self {
            Self::Message(number) => AgentEvent::Message { number, text },
            Self::Thought(number) => AgentEvent::Thought { number, text },
            Self::Brief => AgentEvent::Briefed { part, text },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use contracts::{
        sandbox::Listed,
        secret::{ExposeError, SecretName, SecretValue},
    };
    use domain::transcript;
    use futures::future::BoxFuture;

    use super::*;
    use crate::sockets::Exposing;

    const VALUE: &str = "the-value";

    struct OneValue;

    /// Gives everything at the end.
    struct AtTheEnd(Vec<u8>);

    impl Cleaned for AtTheEnd {
        fn feed(&mut self, piece: &[u8]) -> Vec<u8> {
            self.0.extend_from_slice(piece);
            Vec::new()
        }
        fn is_holding(&self) -> bool {
            !self.0.is_empty()
        }
        fn release(&mut self) -> Vec<u8> {
            Vec::new()
        }
        fn finish(&mut self) -> Vec<u8> {
            let text = String::from_utf8(std::mem::take(&mut self.0)).unwrap();
            text.replace(VALUE, "***").into_bytes()
        }
    }

    impl Values for OneValue {
        fn stream(&self) -> Result<Option<Box<dyn Cleaned>>, NotCleaned> {
            Ok(Some(Box::new(AtTheEnd(Vec::new()))))
        }
        fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
            text.replace(VALUE, "***").into()
        }
        fn expose<'a>(
            &'a self,
            _wish: &'a Exposing,
            _sandbox: &'a Listed,
            _program: &'a str,
        ) -> BoxFuture<'a, Result<Vec<(SecretName, SecretValue)>, ExposeError>> {
            unreachable!()
        }
    }

    fn message(number: u32, text: &str) -> AgentEvent {
        AgentEvent::Message { number, text: text.to_owned() }
    }

    #[test]
    fn a_value_that_comes_in_two_parts_of_a_message_is_taken_out() {
        let mut spoken = Spoken::new(&OneValue);
        let path = AgentEvent::FileChanged { path: format!("a/{VALUE}") };
        let mut told = Vec::new();
        for event in [message(1, "it is the-"), message(1, "value."), message(2, "ö"), path] {
            told.extend(spoken.clean(event).unwrap());
        }
        told.extend(spoken.finish());
        assert_eq!(
            told,
            [
                message(1, "it is ***."),
                message(2, "ö"),
                AgentEvent::FileChanged { path: "a/***".to_owned() },
            ]
        );
    }

    #[test]
    fn a_value_is_taken_out_before_a_text_is_cut() {
        let mut spoken = Spoken::new(&OneValue);
        for before in 8_100..8_192 {
            let text = format!("{}{VALUE}{}", "x".repeat(before), "x".repeat(20_000));
            let told = spoken.clean(AgentEvent::Trouble { text }).unwrap();
            let [AgentEvent::Trouble { text }] = told.as_slice() else { panic!("{told:?}") };
            assert!(text.len() <= transcript::LIMIT && !text.contains("the"), "{before}");
        }
    }
}
