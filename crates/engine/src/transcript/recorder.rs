//! Takes events from a running agent, and hands them to the store.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use contracts::{clock::Clock as _, ids::IdSource as _};
use domain::{
    id::TaskId,
    time::Timestamp,
    transcript::{AgentEvent, Ending},
};
use store::{Lease, Saying, StoreError};
use tokio::sync::mpsc;

use super::clean::Clean;
use crate::{Engine, Hands};

/// A batch is written when it has so many events,
const EVENTS: usize = 64;
/// or about so many bytes of text,
const BYTES: usize = 256 * 1024;
/// or when its first event has waited for so long.
const WAIT: Duration = Duration::from_millis(250);
/// How long a step that was stopped may write what was said.
const FAREWELL: Duration = Duration::from_secs(2);

/// One attempt at a run, as it is told.
pub(crate) struct Recorder {
    task: TaskId,
    run: u64,
    speaker: u128,
    told: mpsc::Receiver<AgentEvent>,
    clean: Clean,
    /// How many events the store has taken.
    kept: u64,
    /// What it has not taken yet, for certain.
    batch: Vec<(Timestamp, AgentEvent)>,
    bytes: usize,
    /// When the first event came that is not written yet, or is held back.
    since: Option<Timestamp>,
    end: End,
}

/// Whether the last event has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Told,
}

impl Recorder {
    pub(crate) fn new<H: Hands>(
        engine: &Engine<H>,
        lease: &Lease,
        told: mpsc::Receiver<AgentEvent>,
    ) -> Self {
        Self {
            task: lease.task,
            run: lease.seq,
            speaker: engine.hands.ids().next(),
            told,
            clean: Clean::new(engine.settings.redactor.clone()),
            kept: 0,
            batch: Vec::new(),
            bytes: 0,
            since: None,
            end: End::Open,
        }
    }

    /// Keeps what the agent tells, for as long as it runs. Returns only when that does not work, with the reason.
    pub(crate) async fn watch<H: Hands>(&mut self, engine: &Engine<H>) -> String {
        loop {
            let event = match self.since.map(|since| since + WAIT) {
                None => Heard::Event(self.told.recv().await),
                Some(due) => tokio::select! {
                    event = self.told.recv() => Heard::Event(event),
                    () = engine.hands.clock().sleep_until(due) => Heard::Nothing,
                },
            };
            let written = match event {
                Heard::Event(Some(event)) => {
                    self.take(event, engine.now());
                    if self.is_ready() { self.write_patiently(engine).await } else { Ok(()) }
                }
                Heard::Nothing => {
                    let released = self.clean.release();
                    self.add(released, engine.now());
                    self.write_patiently(engine).await
                }
                // It closes its end just before it returns; the outcome is what counts.
                Heard::Event(None) => match self.write_patiently(engine).await {
                    Ok(()) => std::future::pending().await,
                    failed @ Err(_) => failed,
                },
            };
            if let Err(reason) = written {
                return reason;
            }
        }
    }

    /// Keeps what is left, and how it ended, if the agent has not said so itself.
    pub(crate) async fn finish<H: Hands>(
        &mut self,
        engine: &Engine<H>,
        ending: Ending,
    ) -> Result<(), String> {
        self.told.close();
        while let Ok(event) = self.told.try_recv() {
            self.take(event, engine.now());
            if self.is_ready() {
                self.write_patiently(engine).await?;
            }
        }
        self.take(AgentEvent::Finished { ending }, engine.now());
        self.write_patiently(engine).await
    }

    /// The same for a step that was stopped: there is little time, and one try.
    async fn say_farewell<H: Hands>(&mut self, engine: &Engine<H>, reason: &str) {
        self.told.close();
        while let Ok(event) = self.told.try_recv() {
            self.take(event, engine.now());
        }
        let ending = Ending::Stopped { reason: reason.to_owned() };
        self.take(AgentEvent::Finished { ending }, engine.now());
        let late = engine.now() + FAREWELL;
        let written = tokio::select! {
            written = self.write(engine) => written.map_err(|error| error.to_string()),
            () = engine.hands.clock().sleep_until(late) => Err("it took too long".to_owned()),
        };
        if let Err(reason) = written {
            tracing::warn!(task = %self.task, reason, "cannot keep the last words of an agent");
        }
    }

    /// Nothing counts after the end.
    fn take(&mut self, event: AgentEvent, at: Timestamp) {
        if self.end == End::Told {
            return;
        }
        if matches!(event, AgentEvent::Finished { .. }) {
            self.end = End::Told;
        }
        self.since.get_or_insert(at);
        let events = self.clean.feed(event);
        self.add(events, at);
    }

    fn add(&mut self, events: Vec<AgentEvent>, at: Timestamp) {
        self.bytes = self.bytes.saturating_add(events.iter().map(weight).sum());
        self.batch.extend(events.into_iter().map(|event| (at, event)));
    }

    const fn is_ready(&self) -> bool {
        self.batch.len() >= EVENTS || self.bytes >= BYTES
    }

    /// Writes the batch; while the database is away, again, until others would take the step from us.
    async fn write_patiently<H: Hands>(&mut self, engine: &Engine<H>) -> Result<(), String> {
        let late = engine.now() + engine.settings.lease;
        let mut tries = 0;
        loop {
            tries += 1;
            match self.write(engine).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_passing() && engine.now() < late => {
                    tracing::warn!(%error, task = %self.task, "cannot keep what an agent says yet");
                    let again = engine.now() + engine.settings.pause_after(tries);
                    engine.hands.clock().sleep_until(again).await;
                }
                Err(error) => return Err(format!("cannot keep what the agent says: {error}")),
            }
        }
    }

    /// Writes the batch. Whoever is stopped in the middle of it, or gets no answer, does it again: the store counts.
    async fn write<H: Hands>(&mut self, engine: &Engine<H>) -> Result<(), StoreError> {
        if self.batch.is_empty() {
            self.since = None;
            return Ok(());
        }
        let saying = Saying {
            task: self.task,
            run: self.run,
            speaker: self.speaker,
            before: self.kept,
            events: self.batch.clone(),
        };
        engine.store.append_transcript(saying).await?;
        self.kept = self.kept.saturating_add(self.batch.len() as u64);
        self.batch.clear();
        self.bytes = 0;
        self.since = None;
        Ok(())
    }
}

/// What there is to do next.
enum Heard {
    Event(Option<AgentEvent>),
    Nothing,
}

/// About how much memory an event takes.
fn weight(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Briefed { text, .. }
        | AgentEvent::Message { text, .. }
        | AgentEvent::Thought { text, .. }
        | AgentEvent::Heard { text }
        | AgentEvent::Trouble { text } => text.len(),
        AgentEvent::ToolCall(call) => {
            let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            text(&call.input)
                + text(&call.result)
                + call.paths.iter().map(String::len).sum::<usize>()
        }
        AgentEvent::Todo { items } => items.iter().map(|item| item.text.len()).sum(),
        AgentEvent::Question { text, choices } => {
            text.len() + choices.iter().map(String::len).sum::<usize>()
        }
        AgentEvent::Started { .. }
        | AgentEvent::FileChanged { .. }
        | AgentEvent::Permission { .. }
        | AgentEvent::Usage(_)
        | AgentEvent::Finished { .. } => 0,
    }
}

/// What a step that was stopped in the middle has left to be kept.
#[derive(Default)]
pub(crate) struct Unfinished(Mutex<Option<Recorder>>);

impl Unfinished {
    /// Writes it, and that the run ended for this `reason`. Most steps have left nothing.
    pub(crate) async fn close<H: Hands>(&self, engine: &Engine<H>, reason: &str) {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut recorder) = left {
            recorder.say_farewell(engine, reason).await;
        }
    }
}

/// A recorder that is left with its step when the step is stopped.
pub(crate) struct Recording<'s> {
    recorder: Option<Recorder>,
    unfinished: &'s Unfinished,
}

impl<'s> Recording<'s> {
    pub(crate) const fn new(recorder: Recorder, unfinished: &'s Unfinished) -> Self {
        Self { recorder: Some(recorder), unfinished }
    }

    /// See [`Recorder::watch`].
    pub(crate) async fn watch<H: Hands>(&mut self, engine: &Engine<H>) -> String {
        match &mut self.recorder {
            Some(recorder) => recorder.watch(engine).await,
            None => std::future::pending().await,
        }
    }

    /// See [`Recorder::finish`].
    pub(crate) async fn finish<H: Hands>(
        mut self,
        engine: &Engine<H>,
        ending: Ending,
    ) -> Result<(), String> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let finished = recorder.finish(engine, ending).await;
        // Nobody has to do it again.
        self.recorder = None;
        finished
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let left = self.recorder.take();
        *self.unfinished.0.lock().unwrap_or_else(PoisonError::into_inner) = left;
    }
}
