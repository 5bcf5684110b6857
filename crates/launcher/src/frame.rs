//! Frames over a blocking stream: four bytes of length, little-endian, then the message.
//!
//! The same bytes as `guest::protocol` frames. A frame is never longer than [`FRAME_LIMIT`], and leaves no byte over.

use std::io::{self, ErrorKind, Read, Write};

use serde::{Serialize, de::DeserializeOwned};

/// The longest message.
pub const FRAME_LIMIT: usize = 64 * 1024;

const HEADER: usize = 4;

/// Writes one message.
pub fn write(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut frame = postcard::to_extend(message, vec![0; HEADER]).map_err(malformed)?;
    let length = frame.len().saturating_sub(HEADER);
    if length > FRAME_LIMIT {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    if let Some(header) = frame.first_chunk_mut::<HEADER>() {
        *header = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    }
    stream.write_all(&frame)
}

/// Reads one message. `None` when the other side has closed the stream between two messages.
pub fn read<M: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<M>> {
    let mut header = [0; HEADER];
    match stream.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
    if length > FRAME_LIMIT {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let (message, left) = postcard::take_from_bytes(&body).map_err(malformed)?;
    if !left.is_empty() {
        let reason = format!("{} bytes are left over", left.len());
        return Err(io::Error::new(ErrorKind::InvalidData, reason));
    }
    Ok(Some(message))
}

fn malformed(error: postcard::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
