//! Between streams that wait and code that blocks.

use std::io::{self, Read, Write};

use bytes::{Buf as _, Bytes};
use futures::{Stream, StreamExt as _};
use tokio::sync::mpsc;

/// How many chunks may wait.
const AHEAD: usize = 16;

/// A reader for a thread, and what feeds it. An error of the stream is an error of the reader.
pub(crate) fn reader<E: std::fmt::Display>(
    stream: impl Stream<Item = Result<Bytes, E>>,
) -> (impl Read + Send + 'static, impl Future<Output = ()>) {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let feeding = async move {
        let mut stream = Box::pin(stream);
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| io::Error::other(error.to_string()));
            // A reader that has gone has read enough.
            if sender.send(chunk).await.is_err() {
                return;
            }
        }
    };
    (Reader { receiver, chunk: Bytes::new() }, feeding)
}

struct Reader {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    chunk: Bytes,
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.receiver.blocking_recv() {
                None => return Ok(0),
                Some(chunk) => self.chunk = chunk?,
            }
        }
        let length = self.chunk.len().min(into.len());
        if let Some(into) = into.get_mut(..length) {
            self.chunk.copy_to_slice(into);
        }
        Ok(length)
    }
}

/// A writer for a thread, and the stream that comes of it. What the thread says at its end is the stream's end: an
/// error tears it off.
pub(crate) fn writer() -> (Writer, impl Stream<Item = io::Result<Bytes>> + Send + 'static) {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let stream = futures::stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    (Writer { sender }, stream)
}

pub(crate) struct Writer {
    sender: mpsc::Sender<io::Result<Bytes>>,
}

impl Writer {
    /// Tears the stream off, so that nobody takes what was written for the whole.
    pub(crate) fn tear(&self) {
        drop(self.sender.blocking_send(Err(io::Error::other("the copy was not finished"))));
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.sender.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map_err(|_gone| {
            io::Error::new(io::ErrorKind::BrokenPipe, "nobody takes it any more")
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
