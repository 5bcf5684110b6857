//! Frames: four bytes of length, little-endian, then the message.
//!
//! The reader keeps no more than [`FRAME_LIMIT`] and what arrived with it, whatever the length says, and a
//! message that leaves bytes over is refused: there is one way to write each message.

use serde::{Serialize, de::DeserializeOwned};

/// The longest message: a program's arguments and environment, or the list of all channels, fit into it.
pub const FRAME_LIMIT: usize = 256 * 1024;

const HEADER: usize = 4;

/// A buffer larger than this is given back when it is empty.
const IDLE: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a frame of {length} bytes is longer than {FRAME_LIMIT}")]
    TooLong { length: usize },
    #[error("a frame that cannot be read: {reason}")]
    Malformed { reason: String },
}

/// A message as a frame.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut frame = postcard::to_extend(message, vec![0; HEADER])
        .map_err(|error| FrameError::Malformed { reason: error.to_string() })?;
    let length = frame.len().saturating_sub(HEADER);
    if length > FRAME_LIMIT {
        return Err(FrameError::TooLong { length });
    }
    let length = u32::try_from(length).map_err(|_too_long| FrameError::TooLong { length })?;
    if let Some(header) = frame.first_chunk_mut::<HEADER>() {
        *header = length.to_le_bytes();
    }
    Ok(frame)
}

/// Takes bytes as they arrive, and gives whole messages.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    read: usize,
}

impl Decoder {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.read = 0;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > IDLE {
            self.buffer = Vec::new();
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one. A malformed message is skipped and can be followed by others;
    /// after one that is too long, the stream cannot be read on.
    #[expect(
        clippy::should_implement_trait,
        reason = "each call may ask for another message, and can fail"
    )]
    pub fn next<M: DeserializeOwned>(&mut self) -> Result<Option<M>, FrameError> {
        let waiting = self.buffer.get(self.read..).unwrap_or_default();
        let Some((header, rest)) = waiting.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes(*header) as usize;
        if length > FRAME_LIMIT {
            return Err(FrameError::TooLong { length });
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        self.read += HEADER + length;
        let (message, left) = postcard::take_from_bytes(body)
            .map_err(|error| FrameError::Malformed { reason: error.to_string() })?;
        if !left.is_empty() {
            let reason = format!("{} bytes are left over", left.len());
            return Err(FrameError::Malformed { reason });
        }
        Ok(Some(message))
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
