//! Chunks, in which a body may come.
//!
//! They are read and written again, never copied through: what the other side calls the end is what we called the end.

/// The longest line of a chunk: its size, and in an answer its extensions.
pub const CHUNK_LINE_LIMIT: usize = 1024;

/// The most hexadecimal digits of a chunk's size.
pub const SIZE_DIGITS: usize = 12;

/// The most bytes of trailers that are read over, in an answer.
pub const TRAILER_LIMIT: usize = 16 * 1024;

/// What ends a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// What follows the bytes of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    #[error("a chunk's size is not a hexadecimal number of at most {SIZE_DIGITS} digits")]
    Size,
    #[error("a chunk has an extension")]
    Extension,
    #[error("a chunk's line is longer than {CHUNK_LINE_LIMIT} bytes")]
    LineTooLong,
    #[error("a chunk does not end in CR LF where its size says")]
    End,
    #[error("the body has trailers")]
    Trailers,
    #[error("the body has more than {TRAILER_LIMIT} bytes of trailers")]
    TrailersTooLong,
    #[error("a trailer has a forbidden byte")]
    TrailerByte,
}

/// What came of some bytes of a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunked<'a> {
    /// `used` bytes were read, and there is nothing to pass on yet. With `used == input.len()`, more bytes are needed.
    Between { used: usize },
    /// Bytes of the body. `used` bytes were read, `bytes` among them.
    Bytes { bytes: &'a [u8], used: usize },
    /// The body has ended; what follows the `used` bytes is not part of it.
    Ended { used: usize },
}

/// Reads a chunked body piece by piece.
#[derive(Debug, Clone)]
pub struct ChunkReader {
    state: State,
    manners: Manners,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manners {
    /// A program's request: no extensions, no trailers.
    Request,
    /// A host's answer: extensions and trailers are read over and not passed on.
    Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size {
        size: u64,
        digits: usize,
    },
    Extension {
        size: u64,
        length: usize,
    },
    SizeLineFeed {
        size: u64,
    },
    Bytes {
        left: u64,
    },
    BytesReturn,
    BytesLineFeed,
    /// At the beginning of a line behind the last chunk.
    TrailerStart {
        total: usize,
    },
    Trailer {
        total: usize,
    },
    TrailerLineFeed {
        total: usize,
    },
    LastLineFeed,
    Ended,
}

impl ChunkReader {
    /// For what a program sends.
    pub const fn of_request() -> Self {
        Self { state: State::Size { size: 0, digits: 0 }, manners: Manners::Request }
    }

    /// For what a host answers.
    pub const fn of_response() -> Self {
        Self { state: State::Size { size: 0, digits: 0 }, manners: Manners::Answer }
    }

    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Reads from the beginning of `input`. Call again with what is behind `used`.
    pub fn read<'a>(&mut self, input: &'a [u8]) -> Result<Chunked<'a>, ChunkError> {
        let mut used = 0;
        loop {
            if self.state == State::Ended {
                return Ok(Chunked::Ended { used });
            }
            let rest = input.get(used..).unwrap_or_default();
            let Some(byte) = rest.first().copied() else {
                return Ok(Chunked::Between { used });
            };
            if let State::Bytes { left } = self.state {
                let most = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                let bytes = rest.get(..most).unwrap_or_default();
                let left = left.saturating_sub(most as u64);
                self.state = if left == 0 { State::BytesReturn } else { State::Bytes { left } };
                return Ok(Chunked::Bytes { bytes, used: used + most });
            }
            self.state = self.after(byte)?;
            used += 1;
        }
    }

    fn after(&self, byte: u8) -> Result<State, ChunkError> {
        match (self.state, byte) {
            (State::Size { size, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if digits >= SIZE_DIGITS {
                    return Err(ChunkError::Size);
                }
                let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                Ok(State::Size { size: size * 16 + digit, digits: digits + 1 })
            }
            (State::Size { digits: 0, .. }, _) => Err(ChunkError::Size),
            (State::Size { size, .. } | State::Extension { size, .. }, b'\r') => {
                Ok(State::SizeLineFeed { size })
            }
            (State::Size { size, .. }, b';' | b' ' | b'\t') => match self.manners {
                Manners::Request => Err(ChunkError::Extension),
                Manners::Answer => Ok(State::Extension { size, length: 0 }),
            },
            (State::Size { .. }, _) => Err(ChunkError::Size),
            (State::Extension { .. }, b'\n' | 0) => Err(ChunkError::Extension),
            (State::Extension { size, length }, _) if length < CHUNK_LINE_LIMIT => {
                Ok(State::Extension { size, length: length + 1 })
            }
            (State::Extension { .. }, _) => Err(ChunkError::LineTooLong),
            (State::SizeLineFeed { size: 0 }, b'\n') => Ok(State::TrailerStart { total: 0 }),
            (State::SizeLineFeed { size }, b'\n') => Ok(State::Bytes { left: size }),
            (State::BytesReturn, b'\r') => Ok(State::BytesLineFeed),
            (State::BytesLineFeed, b'\n') => Ok(State::Size { size: 0, digits: 0 }),
            (State::TrailerStart { .. }, b'\r') => Ok(State::LastLineFeed),
            (State::TrailerStart { total } | State::Trailer { total }, _) => {
                self.trailer(total, byte)
            }
            (State::TrailerLineFeed { total }, b'\n') => Ok(State::TrailerStart { total }),
            (State::TrailerLineFeed { .. }, _) => Err(ChunkError::TrailerByte),
            (State::LastLineFeed, b'\n') | (State::Ended, _) => Ok(State::Ended),
            (
                State::SizeLineFeed { .. }
                | State::BytesReturn
                | State::BytesLineFeed
                | State::LastLineFeed,
                _,
            ) => Err(ChunkError::End),
            // Bytes of a chunk are taken whole, before this.
            (State::Bytes { .. }, _) => Ok(self.state),
        }
    }

    fn trailer(&self, total: usize, byte: u8) -> Result<State, ChunkError> {
        match (self.manners, byte) {
            (Manners::Request, _) => Err(ChunkError::Trailers),
            (Manners::Answer, _) if total >= TRAILER_LIMIT => Err(ChunkError::TrailersTooLong),
            (Manners::Answer, b'\r') => Ok(State::TrailerLineFeed { total: total + 1 }),
            (Manners::Answer, b'\n' | 0) => Err(ChunkError::TrailerByte),
            (Manners::Answer, _) => Ok(State::Trailer { total: total + 1 }),
        }
    }
}

/// The line before the bytes of a chunk. A chunk of nothing would be the end, so there is none.
pub fn chunk_start(length: usize) -> Option<String> {
    (length > 0).then(|| format!("{length:x}\r\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Everything that came out, and how many bytes were read; fed in pieces of these sizes.
    fn read_all(
        mut reader: ChunkReader,
        bytes: &[u8],
        piece: usize,
    ) -> Result<(Vec<u8>, Option<usize>), ChunkError> {
        let mut body = Vec::new();
        let mut total = 0;
        for fed in bytes.chunks(piece.max(1)) {
            let mut rest = fed;
            while !rest.is_empty() {
                let used = match reader.read(rest)? {
                    Chunked::Between { used } => used,
                    Chunked::Bytes { bytes, used } => {
                        body.extend_from_slice(bytes);
                        used
                    }
                    Chunked::Ended { used } => return Ok((body, Some(total + used))),
                };
                total += used;
                rest = &rest[used..];
            }
        }
        let ended = matches!(reader.read(&[]), Ok(Chunked::Ended { .. }));
        Ok((body, ended.then_some(total)))
    }

    #[test]
    fn chunks_of_a_request_are_plain() {
        let read = |text: &str| read_all(ChunkReader::of_request(), text.as_bytes(), 1000);
        assert_eq!(
            read("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nGET /"),
            Ok((b"abc0123456789".to_vec(), Some(28)))
        );
        assert_eq!(read("0000\r\n\r\n"), Ok((Vec::new(), Some(8))));
        for (text, error) in [
            ("3;x=y\r\nabc\r\n", ChunkError::Extension),
            ("3 \r\nabc\r\n", ChunkError::Extension),
            ("3\nabc\n", ChunkError::Size),
            ("\r\n", ChunkError::Size),
            ("-1\r\n", ChunkError::Size),
            ("0x3\r\n", ChunkError::Size),
            ("fffffffffffff\r\n", ChunkError::Size),
            ("3\rabc", ChunkError::End),
            ("3\r\nabcd", ChunkError::End),
            ("3\r\nabc\n", ChunkError::End),
            ("0\r\nX: y\r\n\r\n", ChunkError::Trailers),
            ("0\r\n\rX", ChunkError::End),
        ] {
            assert_eq!(read(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn trailers_and_extensions_of_an_answer_are_read_over() {
        let read = |text: &str| read_all(ChunkReader::of_response(), text.as_bytes(), 3);
        let text = "3;a=b\r\nabc\r\n0\r\nX: y\r\nZ: w\r\n\r\n";
        assert_eq!(read(text), Ok((b"abc".to_vec(), Some(text.len()))));
        assert_eq!(read("3;a\nabc"), Err(ChunkError::Extension));
        assert_eq!(
            read(&format!("3;{}", "a".repeat(CHUNK_LINE_LIMIT + 1))),
            Err(ChunkError::LineTooLong)
        );
        assert_eq!(
            read(&format!("0\r\n{}", "a: b\r\n".repeat(TRAILER_LIMIT))),
            Err(ChunkError::TrailersTooLong)
        );
    }

    proptest! {
        #[test]
        fn chunks_are_the_same_in_any_pieces(bytes in "[0-3a\r\n;]{0,40}", piece in 1_usize..7) {
            for reader in [ChunkReader::of_request(), ChunkReader::of_response()] {
                let whole = read_all(reader.clone(), bytes.as_bytes(), usize::MAX);
                prop_assert_eq!(whole, read_all(reader, bytes.as_bytes(), piece));
            }
        }

        #[test]
        fn what_was_written_in_chunks_is_read_again(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6),
            piece in 1_usize..50,
        ) {
            let mut written = Vec::new();
            for piece in &pieces {
                if let Some(start) = chunk_start(piece.len()) {
                    written.extend_from_slice(start.as_bytes());
                    written.extend_from_slice(piece);
                    written.extend_from_slice(CHUNK_END);
                }
            }
            written.extend_from_slice(LAST_CHUNK);
            let total = written.len();
            written.extend_from_slice(b"what follows");
            prop_assert_eq!(read_all(ChunkReader::of_request(), &written, piece), Ok((pieces.concat(), Some(total))));
        }
    }
}
