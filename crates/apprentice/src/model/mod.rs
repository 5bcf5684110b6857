//! One language for four providers.
//!
//! ```text
//!  Question ──▶ anthropic / openai / gemini (the body) ──▶ http ──▶ events ──▶ the same three (the answer) ──▶ Answer
//!                                   └── again after a pause, when the failure may pass ──┘
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `address`, `http` | where the model is, by which proxy; one request, one answer, with limits and without TLS |
//! | `events` | server-sent events |
//! | `answer` | puts an answer together from pieces, and refuses what is too much |
//! | `anthropic`, `openai`, `gemini` | what is said to each of them, and how they answer |
//! | `failure` | what went wrong, in words that the platform types |
//! | `patience` | how often to try again, and when |
//!
//! Ollama is asked at its OpenAI-compatible address: the platform's gateway meters that language, and does not know Ollama's own.
//!
//! **Invariant:** an [`Answer`] is whole. What was cut off, malformed or too large is a [`Failure`], and nothing of it is believed.

mod answer;
mod anthropic;
mod events;
mod failure;
mod gemini;
mod http;
mod openai;
mod patience;

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;

use std::sync::Arc;

use serde_json::Value;

pub use crate::address::{Address, AddressError};

use self::{answer::Draft, events::Events, http::Request};
pub use self::{
    answer::{Answer, AnswerEnd, Usage},
    failure::{Failure, Kind},
    patience::Patience,
};
use crate::{
    conversation::Entry,
    settings::{Format, Settings},
    stop::{Stop, Stopped},
    tools::Offer,
};

/// What is asked of the model.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub system: &'a str,
    pub entries: &'a [Entry],
    pub tools: &'a [Offer],
    pub max_output_tokens: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// The model of this run.
#[derive(Debug, Clone)]
pub struct Model {
    settings: Arc<Settings>,
    patience: Patience,
}

impl Model {
    pub fn new(settings: Arc<Settings>, patience: Patience) -> Self {
        Self { settings, patience }
    }

    /// Asks until there is an answer, or a failure that does not pass.
    pub fn ask(&self, question: &Question<'_>, stop: &Stop) -> Result<Answer, AskError> {
        let mut tries = self.patience.tries();
        loop {
            let failure = match self.ask_once(question, stop) {
                Ok(answer) => return Ok(answer),
                Err(AskError::Stopped(stopped)) => return Err(stopped.into()),
                Err(AskError::Failed(failure)) => failure,
            };
            match tries.pause_after(&failure) {
                Some(pause) => stop.wait(pause)?,
                None => return Err(failure.into()),
            }
        }
    }

    fn ask_once(&self, question: &Question<'_>, stop: &Stop) -> Result<Answer, AskError> {
        let Settings { format, address, model, key, .. } = self.settings.as_ref();
        let mut headers = vec![("content-type", "application/json".to_owned())];
        let (end, body) = match format {
            Format::Anthropic => {
                headers.push(("x-api-key", key.clone()));
                headers.push(("anthropic-version", "2023-06-01".to_owned()));
                ("/v1/messages".to_owned(), anthropic::body(model, question))
            }
            Format::Openai | Format::Ollama => {
                headers.push(("authorization", format!("Bearer {key}")));
                ("/v1/chat/completions".to_owned(), openai::body(*format, model, question))
            }
            Format::Gemini => {
                headers.push(("x-goog-api-key", key.clone()));
                (gemini::path(model), gemini::body(question))
            }
        };
        if key.is_empty() {
            headers.retain(|(_, value)| !value.is_empty() && value != "Bearer ");
        }
        let request = Request { path: address.path(&end), headers, body: body.to_string() };
        let mut response = http::send(address, &request, stop)?;
        if response.status != 200 {
            let body = response.rest(stop)?;
            return Err(Failure::from_status(response.status, response.retry_after, &body).into());
        }
        if !response.is_event_stream {
            return Err(Failure::bad_answer("it is not a stream of events").into());
        }
        let mut draft = Draft::default();
        let mut events = Events::default();
        while let Some(bytes) = response.next(stop)? {
            events.feed(&bytes)?;
            while let Some(event) = events.next() {
                if event == b"[DONE]" {
                    draft.done();
                    continue;
                }
                self.take(&event, &mut draft)?;
            }
            if draft.is_done() {
                break;
            }
        }
        Ok(draft.finish()?)
    }

    fn take(&self, event: &[u8], draft: &mut Draft) -> Result<(), Failure> {
        let value: Value =
            serde_json::from_slice(event).map_err(|error| Failure::bad_answer(&error))?;
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(Failure::from_event(error));
        }
        match self.settings.format {
            Format::Anthropic => anthropic::take(&value, draft),
            Format::Openai | Format::Ollama => openai::take(&value, draft),
            Format::Gemini => gemini::take(&value, draft),
        }
    }
}
