//! The head of an answer: what a host says.
//!
//! Hosts are trusted no more than programs, but there are more kinds of them: bytes above 127 in values are passed on, and an answer
//! in HTTP/1.0 is understood, with the end of the connection as its end.

use super::{
    HeadError, Headers, Persistence, Scan, Version,
    length::{self, BodyLength},
    scan::lines,
};
use crate::ask::Upgrade;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub version: Version,
    pub status: u16,
    /// What stands behind the status; often empty.
    pub reason: Vec<u8>,
    pub headers: Headers,
    pub persistence: Persistence,
}

/// What an answer is to, as far as its body is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerTo {
    Head,
    Connect,
    Other,
}

/// Reads an answer's head from the beginning of `buffer`, once all of it is there. Tells how many bytes it has.
///
/// `scan` belongs to this head; make one with [`Scan::of_response`] for each. An answer with a status below 200 is not the last one.
pub fn response(
    scan: &mut Scan,
    buffer: &[u8],
) -> Result<Option<(ResponseHead, usize)>, HeadError> {
    let Some(end) = scan.end(buffer)? else {
        return Ok(None);
    };
    let head = buffer.get(..end).unwrap_or(buffer);
    ResponseHead::parse(head).map(|head| Some((head, end)))
}

impl ResponseHead {
    fn parse(head: &[u8]) -> Result<Self, HeadError> {
        let mut lines = lines(head);
        let (version, status, reason) = status_line(lines.next().unwrap_or_default())?;
        let headers = Headers::parse(lines)?;
        let persistence = match version {
            Version::Http11 if !headers.lists("connection", "close") => Persistence::Keep,
            Version::Http10 | Version::Http11 => Persistence::Close,
        };
        Ok(Self { version, status, reason: reason.to_vec(), headers, persistence })
    }

    /// How long the body of an answer is.
    pub fn body_length(&self, to: AnswerTo) -> Result<BodyLength, HeadError> {
        let length =
            length::declared(&self.headers, |coding| coding.eq_ignore_ascii_case(b"chunked"))?;
        // HTTP/1.0 has no chunks; whoever says so is read differently by everybody.
        if self.version == Version::Http10 && length == Some(BodyLength::Chunked) {
            return Err(HeadError::TransferCoding);
        }
        let bodiless = matches!(self.status, 100..=199 | 204 | 304);
        match to {
            AnswerTo::Head => Ok(BodyLength::Nothing),
            AnswerTo::Connect if (200..=299).contains(&self.status) => Ok(BodyLength::Nothing),
            AnswerTo::Connect | AnswerTo::Other if bodiless => Ok(BodyLength::Nothing),
            AnswerTo::Connect | AnswerTo::Other => Ok(length.unwrap_or(BodyLength::UntilClose)),
        }
    }

    /// The head as it goes to the program: without what was between the host and us, and with the body's end as we write it.
    ///
    /// A body that ends with the host's connection is passed on in chunks, so that the program's connection need not end.
    pub fn onward(&self, body: BodyLength, granted: Upgrade) -> Result<Self, HeadError> {
        let mut headers = self.headers.clone();
        headers.remove_hop_by_hop();
        match body {
            BodyLength::Chunked | BodyLength::UntilClose => {
                headers.remove("content-length");
                headers.append("Transfer-Encoding", b"chunked")?;
            }
            BodyLength::Nothing | BodyLength::Exactly(_) => {}
        }
        if self.status == 101 && granted == Upgrade::WebSocket {
            headers.append("Connection", b"Upgrade")?;
            headers.append("Upgrade", b"websocket")?;
        }
        Ok(Self {
            version: Version::Http11,
            status: self.status,
            reason: self.reason.clone(),
            headers,
            persistence: Persistence::Keep,
        })
    }

    /// Writes what was read.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = format!("{} {} ", self.version.as_str(), self.status).into_bytes();
        out.extend_from_slice(&self.reason);
        out.extend_from_slice(b"\r\n");
        self.headers.encode(&mut out);
        out
    }
}

fn status_line(line: &[u8]) -> Result<(Version, u16, &[u8]), HeadError> {
    let (version, rest) = line.split_at_checked(8).ok_or(HeadError::FirstLine)?;
    let version = match version {
        b"HTTP/1.1" => Version::Http11,
        b"HTTP/1.0" => Version::Http10,
        _ => return Err(HeadError::Version),
    };
    let rest = rest.strip_prefix(b" ").ok_or(HeadError::FirstLine)?;
    let (digits, reason) = rest.split_at_checked(3).ok_or(HeadError::Status)?;
    let reason = match reason {
        [] => reason,
        [b' ', reason @ ..] => reason,
        [..] => return Err(HeadError::Status),
    };
    let status = match digits {
        [a @ b'1'..=b'5', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            [a, b, c].iter().fold(0, |sum, digit| sum * 10 + u16::from(**digit - b'0'))
        }
        [..] => return Err(HeadError::Status),
    };
    Ok((version, status, reason))
}
