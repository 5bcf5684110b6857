//! Bodies, piece by piece: read by their framing, and written again by ours.

use std::io;

use bytes::Bytes;
use tokio::io::AsyncRead;

use super::intake::Intake;
use crate::readers::{
    framing::{CHUNK_END, ChunkError, ChunkReader, Chunked, LAST_CHUNK, chunk_start},
    head::BodyLength,
};

/// Reads one body from an intake.
#[derive(Debug)]
pub(super) struct BodyReader {
    left: Left,
}

#[derive(Debug)]
enum Left {
    Nothing,
    Exactly(u64),
    Chunks(ChunkReader),
    UntilClose,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum BodyFault {
    #[error("the body cannot be read: {0}")]
    Chunk(#[from] ChunkError),
    #[error("the body was cut off")]
    Cut,
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

impl BodyReader {
    pub(super) fn of_request(length: BodyLength) -> Self {
        Self::new(length, ChunkReader::of_request())
    }

    pub(super) fn of_response(length: BodyLength) -> Self {
        Self::new(length, ChunkReader::of_response())
    }

    fn new(length: BodyLength, chunks: ChunkReader) -> Self {
        let left = match length {
            BodyLength::Nothing | BodyLength::Exactly(0) => Left::Nothing,
            BodyLength::Exactly(count) => Left::Exactly(count),
            BodyLength::Chunked => Left::Chunks(chunks),
            BodyLength::UntilClose => Left::UntilClose,
        };
        Self { left }
    }

    /// Whether all of it was read.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.left, Left::Nothing)
    }

    /// The next piece, as it came. `None` at the end. Losing the future loses nothing.
    pub(super) async fn next<R: AsyncRead + Unpin>(
        &mut self,
        intake: &mut Intake<R>,
    ) -> Result<Option<Bytes>, BodyFault> {
        loop {
            match &mut self.left {
                Left::Nothing => return Ok(None),
                Left::Exactly(left) => {
                    let here = intake.buffered().len();
                    if here > 0 {
                        let piece =
                            intake.take(usize::try_from(*left).unwrap_or(usize::MAX).min(here));
                        *left = left.saturating_sub(piece.len() as u64);
                        if *left == 0 {
                            self.left = Left::Nothing;
                        }
                        return Ok(Some(piece));
                    }
                }
                Left::Chunks(reader) => {
                    let (used, length, ended) = match reader.read(intake.buffered())? {
                        Chunked::Between { used } => (used, 0, false),
                        Chunked::Bytes { bytes, used } => (used, bytes.len(), false),
                        Chunked::Ended { used } => (used, 0, true),
                    };
                    intake.skip(used.saturating_sub(length));
                    if ended {
                        self.left = Left::Nothing;
                        return Ok(None);
                    }
                    if length > 0 {
                        return Ok(Some(intake.take(length)));
                    }
                }
                Left::UntilClose => {
                    let here = intake.buffered().len();
                    if here > 0 {
                        return Ok(Some(intake.take(here)));
                    }
                }
            }
            if intake.fill().await? == 0 {
                if matches!(self.left, Left::UntilClose) {
                    self.left = Left::Nothing;
                    return Ok(None);
                }
                return Err(BodyFault::Cut);
            }
        }
    }
}

/// How the pieces of a body are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Chunks,
}

impl Encoding {
    pub(super) fn of(length: BodyLength) -> Self {
        match length {
            BodyLength::Nothing | BodyLength::Exactly(_) => Self::Plain,
            BodyLength::Chunked | BodyLength::UntilClose => Self::Chunks,
        }
    }

    /// Adds a piece to `out`. A piece of nothing adds nothing.
    pub(super) fn piece(self, piece: &[u8], out: &mut Vec<u8>) {
        match (self, chunk_start(piece.len())) {
            (Self::Plain, _) => out.extend_from_slice(piece),
            (Self::Chunks, None) => {}
            (Self::Chunks, Some(start)) => {
                out.extend_from_slice(start.as_bytes());
                out.extend_from_slice(piece);
                out.extend_from_slice(CHUNK_END);
            }
        }
    }

    /// Adds what ends a body.
    pub(super) fn end(self, out: &mut Vec<u8>) {
        match self {
            Self::Plain => {}
            Self::Chunks => out.extend_from_slice(LAST_CHUNK),
        }
    }
}
