//! Events and transcript of one task as one stream, from any cursor on.
//!
//! ```text
//!  store: changes ── something is new ──▶ read a page behind the cursor ──▶ merge by time ──▶ item, cursor
//!                                              ▲                                               │
//!                                              └──────────────── all were taken ◀──────────────┘
//! ```
//!
//! It is pulled: nothing is read before the last page was taken, so that a reader who does not read holds one page and no more. Changes only
//! wake; what is told is always read from the store, behind a cursor that counts both lists. So nothing is lost and nothing is told
//! twice, however often a reader comes back.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use domain::id::{PersonId, TaskId};
use futures::{Stream, stream};
use store::{Heard, Recorded, Said, Store, StoreError, Subscription};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use wire::{
    error::{Code, Problem},
    task::{
        shown::Person,
        stream::{Cursor, StreamItem},
    },
};

use crate::{task_problem, task_shapes};

/// A page of each list. A plan has 256 KiB, what an agent says 16 KiB.
const EVENTS: usize = 16;
const WORDS: usize = 64;

/// After so much silence a reader is told that somebody is there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How soon a task that is over is looked at again while its last steps are under way.
const LAST_STEPS: Duration = Duration::from_millis(500);

/// Says who somebody is.
pub(crate) type Names = Arc<dyn Fn(PersonId) -> Person + Send + Sync>;

struct Watch {
    store: Arc<Store>,
    task: TaskId,
    /// Behind all that was read.
    read: Cursor,
    /// Behind all that was told.
    told: Cursor,
    waiting: VecDeque<StreamItem>,
    changes: Subscription,
    names: Names,
    stop: CancellationToken,
    has_ended: bool,
    _place: OwnedSemaphorePermit,
}

/// Everything of `task` behind `cursor`, until it is over.
pub(crate) fn watch(
    store: Arc<Store>,
    task: TaskId,
    cursor: Cursor,
    names: Names,
    stop: CancellationToken,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = StreamItem> + Send + 'static {
    // Before the first page is read, so that nothing falls between.
    let changes = store.subscribe_to_all();
    let watch = Watch {
        store,
        task,
        read: cursor,
        told: cursor,
        waiting: VecDeque::new(),
        changes,
        names,
        stop,
        has_ended: false,
        _place: place,
    };
    stream::unfold(watch, async |mut watch| {
        let item = watch.next().await?;
        watch.told = item.cursor();
        Some((item, watch))
    })
}

/// What woke a reader that had read all.
enum Woken {
    News,
    Silence,
    End,
}

impl Watch {
    async fn next(&mut self) -> Option<StreamItem> {
        if self.has_ended {
            return None;
        }
        match self.item().await {
            Ok(item) => Some(item),
            Err(error) => {
                self.has_ended = true;
                Some(StreamItem::Failed { cursor: self.told, error })
            }
        }
    }

    async fn item(&mut self) -> Result<StreamItem, Problem> {
        loop {
            if let Some(item) = self.waiting.pop_front() {
                return Ok(item);
            }
            let broken = |error: StoreError| task_problem::of_store(&error);
            if self.read_on().await.map_err(broken)? {
                continue;
            }
            let over = self.over().await.map_err(broken)?;
            if let Over::Settled(state) = &over {
                // What came between the last look and the end.
                if self.read_on().await.map_err(broken)? {
                    continue;
                }
                self.has_ended = true;
                return Ok(StreamItem::End { cursor: self.told, state: state.clone() });
            }
            let patience = if over == Over::Settling { LAST_STEPS } else { HEARTBEAT };
            match self.woken(patience).await {
                Woken::News => {}
                Woken::Silence if over == Over::Settling => {}
                Woken::Silence => return Ok(StreamItem::Heartbeat { cursor: self.told }),
                Woken::End => {
                    let message = "the server was stopped; the task goes on when it runs again";
                    return Err(Problem::new(Code::Stopped, message));
                }
            }
        }
    }

    /// Reads the next page of both lists. Whether there was anything.
    async fn read_on(&mut self) -> Result<bool, StoreError> {
        let events = limit(EVENTS);
        let events = self.store.events_after(self.task, self.read.events, events).await?;
        let words = limit(WORDS);
        let words = self.store.transcript_after(self.task, self.read.transcript, words).await?;
        for next in merged(events, words) {
            self.waiting.push_back(match next {
                Next::Event(recorded) => {
                    self.read.events = recorded.seq;
                    let event = Box::new(task_shapes::recorded(
                        &recorded,
                        &*self.names,
                        self.store.blobs(),
                    ));
                    StreamItem::Event { cursor: self.read, event }
                }
                Next::Said(said) => {
                    self.read.transcript = said.number;
                    StreamItem::Transcript { cursor: self.read, item: task_shapes::said(said) }
                }
            });
        }
        Ok(!self.waiting.is_empty())
    }

    async fn over(&self) -> Result<Over, StoreError> {
        let Some(view) = self.store.task(self.task).await? else {
            return Err(StoreError::NoTask { task: self.task });
        };
        if !["done", "failed", "cancelled"].contains(&view.stage.as_str()) {
            return Ok(Over::NotYet);
        }
        // An agent that was stopped may still be saying its last words.
        if self.store.pending(self.task).await?.is_empty() {
            Ok(Over::Settled(view.stage))
        } else {
            Ok(Over::Settling)
        }
    }

    async fn woken(&mut self, patience: Duration) -> Woken {
        let (task, changes) = (self.task, &mut self.changes);
        let news = async {
            loop {
                match changes.next().await {
                    Heard::Change(change) if change.task == task => return Woken::News,
                    Heard::Transcript(growth) if growth.task == task => return Woken::News,
                    Heard::Missed => return Woken::News,
                    Heard::Closed => return Woken::End,
                    Heard::Change(_) | Heard::Transcript(_) => {}
                }
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => Woken::End,
            woken = tokio::time::timeout(patience, news) => woken.unwrap_or(Woken::Silence),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Over {
    NotYet,
    /// It is, and something is still to be done about it.
    Settling,
    Settled(String),
}

enum Next {
    Event(Box<Recorded>),
    Said(Said),
}

fn limit(page: usize) -> i64 {
    i64::try_from(page).unwrap_or(i64::MAX)
}

/// Both in the order of their times, as far as that is certain: behind a full page there may be something earlier.
fn merged(events: Vec<Recorded>, words: Vec<Said>) -> Vec<Next> {
    let events_end = (events.len() >= EVENTS).then(|| events.last().map(|last| last.at)).flatten();
    let words_end = (words.len() >= WORDS).then(|| words.last().map(|last| last.at)).flatten();
    let mut merged = Vec::with_capacity(events.len() + words.len());
    let (mut events, mut words) = (events.into_iter().peekable(), words.into_iter().peekable());
    loop {
        let event_first = match (events.peek(), words.peek()) {
            (Some(event), Some(said)) => event.at <= said.at,
            (Some(event), None) => {
                if words_end.is_some_and(|end| event.at > end) {
                    break;
                }
                true
            }
            (None, Some(said)) => {
                if events_end.is_some_and(|end| said.at >= end) {
                    break;
                }
                false
            }
            (None, None) => break,
        };
        if event_first {
            merged.extend(events.next().map(|event| Next::Event(Box::new(event))));
        } else {
            merged.extend(words.next().map(Next::Said));
        }
    }
    merged
}
