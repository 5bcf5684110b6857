//! Bytes that have arrived and are not used up.
//!
//! What is read too far stays here for whoever reads next: the head of the second request waits until the first is answered.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::readers::head::{self, HeadError, RequestHead, ResponseHead, Scan};

/// How much is read at once.
const GULP: usize = 32 * 1024;

/// A reader, and what was read from it.
#[derive(Debug)]
pub(super) struct Intake<R> {
    reader: R,
    buffer: BytesMut,
}

/// Why there is no head.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeadFault {
    #[error("{0}")]
    Head(#[from] HeadError),
    #[error("the connection was closed in the middle of a head")]
    Cut,
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

impl<R: AsyncRead + Unpin> Intake<R> {
    pub(super) fn new(reader: R, buffer: BytesMut) -> Self {
        Self { reader, buffer }
    }

    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer
    }

    pub(super) fn into_parts(self) -> (R, BytesMut) {
        (self.reader, self.buffer)
    }

    pub(super) fn reader(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Reads more. Zero at the end. Losing the future loses nothing.
    pub(super) async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.reserve(GULP);
        self.reader.read_buf(&mut self.buffer).await
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.buffer.advance(count.min(self.buffer.len()));
    }

    pub(super) fn take(&mut self, count: usize) -> Bytes {
        self.buffer.split_to(count.min(self.buffer.len())).freeze()
    }

    /// Waits until there is at least one byte. Tells whether there is.
    pub(super) async fn arrival(&mut self) -> io::Result<Arrival> {
        if self.buffer.is_empty() && self.fill().await? == 0 {
            return Ok(Arrival::Closed);
        }
        Ok(Arrival::Bytes)
    }

    /// The head of the next request. `None` when the connection was closed before it began.
    pub(super) async fn request(&mut self) -> Result<Option<RequestHead>, HeadFault> {
        let mut scan = Scan::of_request();
        loop {
            if let Some((head, used)) = head::request(&mut scan, &self.buffer)? {
                self.skip(used);
                return Ok(Some(head));
            }
            if self.fill().await? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(HeadFault::Cut) };
            }
        }
    }

    /// The head of the next answer. `None` when the connection was closed before it began.
    pub(super) async fn response(&mut self) -> Result<Option<ResponseHead>, HeadFault> {
        let mut scan = Scan::of_response();
        loop {
            if let Some((head, used)) = head::response(&mut scan, &self.buffer)? {
                self.skip(used);
                return Ok(Some(head));
            }
            if self.fill().await? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(HeadFault::Cut) };
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    Bytes,
    Closed,
}

/// A stream that begins with bytes that were read before.
#[derive(Debug)]
pub(super) struct Rewound<S> {
    before: BytesMut,
    stream: S,
}

impl<S> Rewound<S> {
    pub(super) fn new(before: BytesMut, stream: S) -> Self {
        Self { before, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewound<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, out);
        }
        let count = self.before.len().min(out.remaining());
        out.put_slice(&self.before.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewound<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
