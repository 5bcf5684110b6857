//! One request over HTTP/1.1, one answer. No TLS, no redirects, no compression, no connection that is used twice.
//!
//! Everything that comes back has a limit: the head, the body, the time without a byte, and the time as a whole.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use super::{Address, AskError, Failure};
use crate::stop::Stop;

const CONNECT: Duration = Duration::from_secs(10);
/// A model may think for minutes before it says a word.
const SILENCE: Duration = Duration::from_mins(5);
const WHOLE: Duration = Duration::from_mins(30);
/// How often it is asked whether the answer is still wanted.
const LOOK: Duration = Duration::from_millis(100);
const LARGEST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 100;
/// How many answers may only say that the answer is to come.
const MOST_BEFORE: usize = 5;
const LARGEST_BODY: usize = 32 << 20;
/// Of a body that only tells an error.
const LARGEST_REST: usize = 256 << 10;

pub(super) struct Request {
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

/// An answer whose head was read; the body comes piece by piece.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) is_event_stream: bool,
    wire: Wire,
    length: Length,
    taken: usize,
}

/// How the end of a body is known.
enum Length {
    Known(usize),
    Chunked(Chunk),
    UntilClosed,
}

enum Chunk {
    /// Before the line that tells the size.
    Size,
    /// This much is left of one.
    Inside(usize),
    /// Before the empty line after one.
    After,
    Ended,
}

pub(super) fn send(
    address: &Address,
    request: &Request,
    stop: &Stop,
) -> Result<Response, AskError> {
    stop.check()?;
    let stream =
        TcpStream::connect_timeout(&address.dial(), CONNECT).map_err(Failure::unreachable)?;
    stream.set_read_timeout(Some(LOOK)).map_err(Failure::unreachable)?;
    stream.set_write_timeout(Some(LOOK)).map_err(Failure::unreachable)?;
    let mut wire = Wire::new(stream);
    let mut head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\nuser-agent: lamp-agent/{}\r\naccept: text/event-stream\r\n\
         accept-encoding: identity\r\nconnection: close\r\ncontent-length: {}\r\n",
        address.target(&request.path),
        address.authority(),
        env!("CARGO_PKG_VERSION"),
        request.body.len(),
    );
    head.extend(request.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
    head.push_str("\r\n");
    wire.write(head.as_bytes(), stop)?;
    wire.write(request.body.as_bytes(), stop)?;
    Response::read(wire, stop)
}

impl Response {
    fn read(mut wire: Wire, stop: &Stop) -> Result<Self, AskError> {
        let mut before = 0;
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut response = httparse::Response::new(&mut headers);
            let parsed = response.parse(&wire.buffer).map_err(Failure::bad_answer)?;
            let httparse::Status::Complete(length) = parsed else {
                if wire.buffer.len() > LARGEST_HEAD {
                    return Err(Failure::bad_answer("its head is too large").into());
                }
                wire.fill(stop)?.ok_or_else(cut_off)?;
                continue;
            };
            let status = response.code.unwrap_or(0);
            if (100..200).contains(&status) {
                before += 1;
                if before > MOST_BEFORE {
                    return Err(Failure::bad_answer("it does not begin").into());
                }
                wire.buffer.drain(..length);
                continue;
            }
            let header = |name: &str| {
                let mut found =
                    response.headers.iter().filter(|it| it.name.eq_ignore_ascii_case(name));
                let first = found.next().map(|it| String::from_utf8_lossy(it.value).into_owned());
                (first, found.next().is_some())
            };
            let length_of_body = match (header("transfer-encoding"), header("content-length")) {
                ((Some(coding), false), (None, _)) if coding.eq_ignore_ascii_case("chunked") => {
                    Length::Chunked(Chunk::Size)
                }
                ((None, _), (Some(length), false)) => {
                    let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
                    let length = length.parse().ok().filter(|_| is_number);
                    Length::Known(length.ok_or_else(|| Failure::bad_answer("its length"))?)
                }
                ((None, _), (None, _)) => Length::UntilClosed,
                _ => return Err(Failure::bad_answer("it has two lengths").into()),
            };
            if header("content-encoding").0.is_some_and(|it| !it.eq_ignore_ascii_case("identity")) {
                return Err(Failure::bad_answer("it is compressed").into());
            }
            let retry_after = header("retry-after").0.and_then(|it| it.trim().parse().ok());
            let kind = header("content-type").0.unwrap_or_default().to_ascii_lowercase();
            wire.buffer.drain(..length);
            return Ok(Self {
                status,
                retry_after: retry_after.map(Duration::from_secs),
                is_event_stream: kind.starts_with("text/event-stream"),
                wire,
                length: length_of_body,
                taken: 0,
            });
        }
    }

    /// The next piece of the body; none at its end.
    pub(super) fn next(&mut self, stop: &Stop) -> Result<Option<Vec<u8>>, AskError> {
        let piece = self.piece(stop)?;
        self.taken += piece.as_ref().map_or(0, Vec::len);
        if self.taken > LARGEST_BODY {
            return Err(Failure::bad_answer("it is too large").into());
        }
        Ok(piece)
    }

    /// What is left of a body that only tells an error. What is too much of it, or does not come, is left out.
    pub(super) fn rest(&mut self, stop: &Stop) -> Result<Vec<u8>, AskError> {
        let mut all = Vec::new();
        while all.len() < LARGEST_REST {
            match self.next(stop) {
                Ok(Some(piece)) => all.extend(piece),
                Ok(None) | Err(AskError::Failed(_)) => break,
                Err(AskError::Stopped(stopped)) => return Err(stopped.into()),
            }
        }
        all.truncate(LARGEST_REST);
        Ok(all)
    }

    fn piece(&mut self, stop: &Stop) -> Result<Option<Vec<u8>>, AskError> {
        let Self { wire, length, .. } = self;
        match length {
            Length::Known(0) => Ok(None),
            Length::Known(left) => {
                let piece = wire.take(*left, stop)?.ok_or_else(cut_off)?;
                *left = left.saturating_sub(piece.len());
                Ok(Some(piece))
            }
            Length::UntilClosed => wire.take(usize::MAX, stop),
            Length::Chunked(chunk) => loop {
                match chunk {
                    Chunk::Ended => return Ok(None),
                    Chunk::Size => {
                        let size = wire.chunk_size(stop)?;
                        *chunk = if size == 0 { Chunk::Ended } else { Chunk::Inside(size) };
                    }
                    Chunk::Inside(left) => {
                        let piece = wire.take(*left, stop)?.ok_or_else(cut_off)?;
                        *left = left.saturating_sub(piece.len());
                        if *left == 0 {
                            *chunk = Chunk::After;
                        }
                        return Ok(Some(piece));
                    }
                    Chunk::After => {
                        wire.line_break(stop)?;
                        *chunk = Chunk::Size;
                    }
                }
            },
        }
    }
}

fn cut_off() -> AskError {
    Failure::unreachable("the answer was cut off").into()
}

/// The connection, and what was read of it but not yet used.
struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    begun: Instant,
}

impl Wire {
    fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new(), begun: Instant::now() }
    }

    fn write(&mut self, bytes: &[u8], stop: &Stop) -> Result<(), AskError> {
        let mut rest = bytes;
        let mut last = Instant::now();
        while !rest.is_empty() {
            stop.check()?;
            match self.stream.write(rest) {
                Ok(0) => return Err(cut_off()),
                Ok(written) => {
                    rest = rest.get(written..).unwrap_or_default();
                    last = Instant::now();
                }
                // Who answers before it has read everything says why in its answer.
                Err(error) if is_gone(error.kind()) => return Ok(()),
                Err(error) => self.patient(&error, last)?,
            }
        }
        Ok(())
    }

    /// Reads more into the buffer; none when the other end is closed.
    fn fill(&mut self, stop: &Stop) -> Result<Option<()>, AskError> {
        let mut bytes = [0; 16 << 10];
        let last = Instant::now();
        loop {
            stop.check()?;
            if self.begun.elapsed() > WHOLE {
                return Err(Failure::unreachable("the answer does not end").into());
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(None),
                Ok(length) => {
                    self.buffer.extend_from_slice(bytes.get(..length).unwrap_or_default());
                    return Ok(Some(()));
                }
                Err(error) => self.patient(&error, last)?,
            }
        }
    }

    /// An error that only says that nothing happened yet is none, for a while.
    fn patient(&self, error: &std::io::Error, last: Instant) -> Result<(), AskError> {
        let is_quiet = matches!(
            error.kind(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
        );
        if !is_quiet {
            return Err(Failure::unreachable(error).into());
        }
        if last.elapsed() > SILENCE || self.begun.elapsed() > WHOLE {
            return Err(Failure::unreachable("it is silent").into());
        }
        Ok(())
    }

    /// At most `most` bytes, at least one; none when the other end is closed.
    fn take(&mut self, most: usize, stop: &Stop) -> Result<Option<Vec<u8>>, AskError> {
        if self.buffer.is_empty() && self.fill(stop)?.is_none() {
            return Ok(None);
        }
        let length = self.buffer.len().min(most);
        Ok(Some(self.buffer.drain(..length).collect()))
    }

    fn chunk_size(&mut self, stop: &Stop) -> Result<usize, AskError> {
        loop {
            let parsed = httparse::parse_chunk_size(&self.buffer);
            match parsed.map_err(|_| Failure::bad_answer("the size of a chunk"))? {
                httparse::Status::Complete((length, size)) => {
                    self.buffer.drain(..length);
                    let size = usize::try_from(size).ok().filter(|size| *size <= LARGEST_BODY);
                    return Ok(size.ok_or_else(|| Failure::bad_answer("it is too large"))?);
                }
                httparse::Status::Partial if self.buffer.len() > 1024 => {
                    return Err(Failure::bad_answer("the size of a chunk").into());
                }
                httparse::Status::Partial => self.fill(stop)?.ok_or_else(cut_off)?,
            }
        }
    }

    fn line_break(&mut self, stop: &Stop) -> Result<(), AskError> {
        while self.buffer.len() < 2 {
            self.fill(stop)?.ok_or_else(cut_off)?;
        }
        if !self.buffer.starts_with(b"\r\n") {
            return Err(Failure::bad_answer("the end of a chunk").into());
        }
        self.buffer.drain(..2);
        Ok(())
    }
}

fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}
