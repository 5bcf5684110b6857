//! A task's live stream that goes on where it was when its connection is cut.
//!
//! It is read as server-sent events. What was seen is known by its cursor, so that a new connection gives everything else once.

use std::{fmt, pin::Pin, time::Duration};

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use hyper::Method;

use super::{Answered, Client, ClientError, task_path};
use crate::{
    error::Code,
    task::stream::{Cursor, StreamItem},
};

/// A message longer than this is not waited for: a plan is the longest.
const LONGEST: usize = 8 << 20;

/// How often a connection is opened again without having heard anything, before the caller is told.
const TRIES: u32 = 12;

/// The pause before the second try; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A server says at least every ten seconds that it is there.
const SILENCE: Duration = Duration::from_mins(1);

type Chunks = Pin<Box<dyn Stream<Item = Answered<Bytes>> + Send>>;

/// What happens to a task, as it happens.
pub struct TaskStream {
    client: Client,
    task: String,
    cursor: Cursor,
    reading: Option<Reading>,
    failures: u32,
    has_ended: bool,
}

impl fmt::Debug for TaskStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskStream")
            .field("task", &self.task)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

impl TaskStream {
    pub(super) const fn new(client: Client, task: String, cursor: Cursor) -> Self {
        Self { client, task, cursor, reading: None, failures: 0, has_ended: false }
    }

    /// How far it has come.
    pub const fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The next item; `None` after [`StreamItem::End`]. Heartbeats are told too, so that a caller can show that somebody is there.
    ///
    /// An error means that the server refused, or could not be reached for a while. Calling again tries again.
    pub async fn next(&mut self) -> Answered<Option<StreamItem>> {
        loop {
            if self.has_ended {
                return Ok(None);
            }
            match self.read().await {
                Ok(item) => {
                    self.cursor = item.cursor();
                    if let StreamItem::Failed { error, .. } = item {
                        self.reading = None;
                        // A server that ends, or whose database is busy, is back soon.
                        if matches!(error.code, Code::Stopped | Code::Busy) {
                            self.again(ClientError::Refused(error)).await?;
                            continue;
                        }
                        return Err(ClientError::Refused(error));
                    }
                    self.failures = 0;
                    self.has_ended = matches!(item, StreamItem::End { .. });
                    return Ok(Some(item));
                }
                Err(ClientError::Refused(problem)) if problem.code == Code::Stopped => {
                    self.reading = None;
                    self.again(ClientError::Refused(problem)).await?;
                }
                Err(error @ (ClientError::Refused(_) | ClientError::Strange { .. })) => {
                    self.reading = None;
                    return Err(error);
                }
                Err(error @ (ClientError::Broken { .. } | ClientError::NoServer { .. })) => {
                    self.reading = None;
                    self.again(error).await?;
                }
            }
        }
    }

    /// Waits before the next try, unless there were enough.
    async fn again(&mut self, error: ClientError) -> Answered<()> {
        self.failures += 1;
        if self.failures >= TRIES {
            self.failures = 0;
            return Err(error);
        }
        pause(self.failures).await;
        Ok(())
    }

    async fn read(&mut self) -> Answered<StreamItem> {
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none @ None => {
                let path = task_path::of(&self.task, &format!("/stream?after={}", self.cursor));
                let body = http_body_util::Full::new(Bytes::new());
                let headers = [("accept", "text/event-stream")];
                let answer =
                    super::connection::call(&self.client, Method::GET, &path, body, &headers);
                let chunks: Chunks = Box::pin(answer.await?.bytes());
                none.insert(Reading { chunks, begun: Vec::new(), seen: 0 })
            }
        };
        let silent = |_| ClientError::broken(&"the server has said nothing for a minute");
        let text = tokio::time::timeout(SILENCE, reading.message()).await.map_err(silent)??;
        serde_json::from_str(&text).map_err(|error| ClientError::strange(&error))
    }
}

async fn pause(failures: u32) {
    let doublings = failures.saturating_sub(1).min(8);
    let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    #[expect(
        clippy::disallowed_methods,
        reason = "a client outside the server, which has no clock to give"
    )]
    tokio::time::sleep(pause).await;
}

/// Messages put together from chunks.
struct Reading {
    chunks: Chunks,
    begun: Vec<u8>,
    /// How much of `begun` has no end of a message in it.
    seen: usize,
}

impl Reading {
    /// The `data` of the next message that has some.
    async fn message(&mut self) -> Answered<String> {
        loop {
            if let Some(end) = self.end() {
                let message: Vec<u8> = self.begun.drain(..end + 2).collect();
                self.seen = 0;
                let message =
                    String::from_utf8(message).map_err(|error| ClientError::strange(&error))?;
                match data(&message) {
                    Some(data) => return Ok(data),
                    None => continue,
                }
            }
            if self.begun.len() > LONGEST {
                return Err(ClientError::strange(&"a message without an end"));
            }
            match self.chunks.next().await {
                Some(chunk) => self.begun.extend_from_slice(&chunk?),
                None => return Err(ClientError::broken(&"the stream ended before the task did")),
            }
        }
    }

    /// Where the empty line after a message begins.
    fn end(&mut self) -> Option<usize> {
        let rest = self.begun.get(self.seen..)?;
        let found = rest.windows(2).position(|pair| pair == b"\n\n");
        if found.is_none() {
            self.seen = self.begun.len().saturating_sub(1);
        }
        found.map(|at| self.seen + at)
    }
}

/// Its lines of data together; none for a comment.
fn data(message: &str) -> Option<String> {
    let lines: Vec<&str> = message
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    fn reading(chunks: &[&'static str]) -> Reading {
        let chunks: Vec<_> =
            chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk.as_bytes()))).collect();
        Reading { chunks: Box::pin(stream::iter(chunks)), begun: Vec::new(), seen: 0 }
    }

    #[tokio::test]
    async fn messages_are_put_together_from_chunks() {
        let mut reading = reading(&[
            ": hello\n\nid: 1.0\neve",
            "nt: x\ndata: {\"a\":1}\n",
            "\ndata: 2\ndata: 3\n\n",
        ]);
        assert_eq!(reading.message().await.unwrap(), "{\"a\":1}");
        assert_eq!(reading.message().await.unwrap(), "2\n3");
        assert!(matches!(reading.message().await, Err(ClientError::Broken { .. })));
    }

    #[tokio::test]
    async fn a_message_that_is_cut_off_is_not_told() {
        let mut reading = reading(&["data: {\"a\":1}\n"]);
        assert!(matches!(reading.message().await, Err(ClientError::Broken { .. })));
    }
}
