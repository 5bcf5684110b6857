//! A fetch: the lines of that protocol and nothing else.
//!
//! Nothing is kept back; a request with a line that is not git's is cut off. Git compresses long requests, so the reader unpacks what it
//! looks at, within a limit.

use std::io::Write as _;

use flate2::write::GzDecoder;

use crate::readers::packet_line::{self, Packet, PacketError};

/// The most bytes of one request, unpacked.
pub const FETCH_LIMIT: usize = 64 * 1024 * 1024;

/// How lines of a fetch begin, in all versions of the protocol.
const WORDS: [&str; 24] = [
    "want ",
    "have ",
    "done",
    "shallow ",
    "deepen ",
    "deepen-since ",
    "deepen-not ",
    "deepen-relative",
    "filter ",
    "want-ref ",
    "thin-pack",
    "no-progress",
    "include-tag",
    "ofs-delta",
    "sideband-all",
    "wait-for-done",
    "packfile-uris ",
    "command=ls-refs",
    "command=fetch",
    "command=object-info",
    "agent=",
    "object-format=",
    "session-id=",
    "server-option=",
];

/// How arguments of `ls-refs` and `object-info` begin.
const ARGUMENTS: [&str; 6] = ["peel", "symrefs", "unborn", "ref-prefix ", "size", "oid "];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("the fetch cannot be read: {0}")]
    Packet(#[from] PacketError),
    #[error("the fetch has a line that is not git's")]
    Line,
    #[error("the fetch is longer than {FETCH_LIMIT} bytes")]
    TooLong,
    #[error("the fetch is compressed in a way that git does not use")]
    Encoding,
    #[error("the fetch ends within a line")]
    Incomplete,
}

/// A fetch that is being read.
#[derive(Debug)]
pub struct Fetch {
    /// Unpacks into its own buffer.
    unpack: Option<GzDecoder<Vec<u8>>>,
    buffer: Vec<u8>,
    total: usize,
}

impl Fetch {
    /// `content_encoding` is the request's header.
    pub fn new(content_encoding: Option<&str>) -> Result<Self, FetchError> {
        let unpack = match content_encoding {
            None | Some("identity") => None,
            Some("gzip" | "x-gzip") => Some(GzDecoder::new(Vec::new())),
            Some(_) => return Err(FetchError::Encoding),
        };
        Ok(Self { unpack, buffer: Vec::new(), total: 0 })
    }

    /// Reads the next bytes of the body. They may be sent on if this is no error.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        // A small piece may unpack to a thousand times its size.
        for piece in bytes.chunks(4096) {
            match &mut self.unpack {
                None => self.buffer.extend_from_slice(piece),
                Some(unpack) => {
                    unpack.write_all(piece).map_err(|_| FetchError::Encoding)?;
                    self.buffer.append(unpack.get_mut());
                }
            }
            self.lines()?;
        }
        Ok(())
    }

    /// The body has ended.
    pub fn finish(&mut self) -> Result<(), FetchError> {
        if let Some(unpack) = &mut self.unpack {
            unpack.try_finish().map_err(|_| FetchError::Encoding)?;
            self.buffer.append(unpack.get_mut());
        }
        self.lines()?;
        if self.buffer.is_empty() { Ok(()) } else { Err(FetchError::Incomplete) }
    }

    fn lines(&mut self) -> Result<(), FetchError> {
        let mut used = 0;
        while let Some((packet, length)) =
            packet_line::read(self.buffer.get(used..).unwrap_or_default())?
        {
            match packet {
                Packet::Flush | Packet::Delimiter => {}
                Packet::Line(line) if is_line(line) => {}
                Packet::Line(_) | Packet::ResponseEnd => return Err(FetchError::Line),
            }
            used += length;
            if used == self.buffer.len() {
                break;
            }
        }
        self.total += used;
        self.buffer.drain(..used);
        if self.total + self.buffer.len() > FETCH_LIMIT { Err(FetchError::TooLong) } else { Ok(()) }
    }
}

fn is_line(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let begins = |word: &&'static str| line.starts_with(word.as_bytes());
    let printable = line.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
    printable && (WORDS.iter().any(begins) || ARGUMENTS.iter().any(begins))
}
