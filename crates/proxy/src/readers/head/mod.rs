//! The head of an HTTP/1.1 request or answer.
//!
//! ```text
//!  bytes ──▶ Scan ──▶ RequestHead ──▶ onward() ──▶ encode() ──▶ bytes
//!            ends,     one meaning     without what   what was
//!            limits                    is not the     judged
//!                                      host's
//! ```
//!
//! Lines end in CR LF and in nothing else. There is one Host, one length, no folding, no control character, no blank before a colon,
//! no method that we do not know. A name keeps the spelling that it came in and is compared without regard to case.
//!
//! HTTP/1.0 is accepted for CONNECT alone: Python before 3.12 opens its tunnels so, without a Host. Anything else in HTTP/1.0 is
//! refused, because its bodies and its connections end by other rules than those that we write onward.

mod headers;
mod length;
mod request;
mod response;
mod scan;

#[cfg(test)]
mod head_properties;
#[cfg(test)]
mod head_tests;

pub use headers::{Header, Headers, METHOD_OVERRIDES};
pub use length::BodyLength;
pub use request::{Expectation, Persistence, RequestHead, RequestTarget, Verb, request};
pub use response::{AnswerTo, ResponseHead, response};
pub use scan::Scan;

use super::target::TargetError;
use crate::ask::RefusalCode;

/// The longest first line, in bytes.
pub const LINE_LIMIT: usize = 8 * 1024;

/// The longest head, in bytes, with the empty line that ends it.
pub const HEAD_LIMIT: usize = 32 * 1024;

/// The most headers.
pub const HEADER_LIMIT: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Http10,
    Http11,
}

impl Version {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    #[error("the head begins with an empty line")]
    EmptyStart,
    #[error("the first line is longer than {LINE_LIMIT} bytes")]
    LineTooLong,
    #[error("the head is longer than {HEAD_LIMIT} bytes")]
    TooLong,
    #[error("the head has more than {HEADER_LIMIT} headers")]
    TooManyHeaders,
    #[error("a line of the head ends without a carriage return")]
    BareLineFeed,
    #[error("the head has a carriage return that ends no line")]
    BareReturn,
    #[error("the head contains the byte 0x{0:02x}")]
    ForbiddenByte(u8),
    #[error("the first line is not a method, a target and a version with one blank between them")]
    FirstLine,
    #[error("the version is not HTTP/1.1")]
    Version,
    #[error("HTTP/2 without TLS is not carried")]
    Http2,
    #[error("TRACE is not carried")]
    Trace,
    #[error("the method `{0}` is not written in capital letters")]
    MethodCase(String),
    #[error("the method `{0}` is not carried")]
    Method(String),
    #[error("{0}")]
    Target(#[from] TargetError),
    #[error("the target does not fit the method")]
    TargetForm,
    #[error("a header line is continued on the next line")]
    Folded,
    #[error("a header line has no colon")]
    NoColon,
    #[error("a header's name is not a plain word")]
    Name,
    #[error("a header's value has a byte that cannot be sent")]
    Value,
    #[error("the header `{0}` is there more than once")]
    Twice(&'static str),
    #[error("the header `{0}` could be taken for another by some servers")]
    Lookalike(String),
    #[error("there is more than one Host header")]
    TwoHosts,
    #[error("there is no Host header")]
    NoHost,
    #[error("the Host header is unusable: {0}")]
    Host(TargetError),
    #[error("the Host header does not say the same as the target")]
    HostDisagrees,
    #[error("the Content-Length is not a plain number")]
    Length,
    #[error("there is more than one Content-Length")]
    TwoLengths,
    #[error("there is a Content-Length beside a Transfer-Encoding")]
    LengthAndChunks,
    #[error("the Transfer-Encoding is not exactly `chunked`")]
    TransferCoding,
    #[error("the Connection header names `{0}`, which is not its to remove")]
    Nominated(String),
    #[error("the expectation is not `100-continue`")]
    Expectation,
    #[error("an upgrade to anything but WebSocket is not carried")]
    Upgrade,
    #[error("the WebSocket handshake is incomplete")]
    WebSocket,
    #[error("the status is not three digits between 100 and 599")]
    Status,
}

impl HeadError {
    /// The status and the word with which a program is told.
    pub const fn refusal(&self) -> (u16, RefusalCode) {
        match self {
            Self::LineTooLong => (414, RefusalCode::Limit),
            Self::TooLong | Self::TooManyHeaders => (431, RefusalCode::Limit),
            Self::Version | Self::Http2 => (505, RefusalCode::Unsupported),
            Self::Trace => (405, RefusalCode::Unsupported),
            Self::Method(_) | Self::Upgrade => (501, RefusalCode::Unsupported),
            Self::Expectation => (417, RefusalCode::Unsupported),
            Self::HostDisagrees | Self::TwoHosts => (421, RefusalCode::Mismatch),
            Self::Target(TargetError::Address(_)) | Self::Host(TargetError::Address(_)) => {
                (403, RefusalCode::Address)
            }
            Self::EmptyStart
            | Self::BareLineFeed
            | Self::BareReturn
            | Self::ForbiddenByte(_)
            | Self::FirstLine
            | Self::MethodCase(_)
            | Self::Target(_)
            | Self::TargetForm
            | Self::Folded
            | Self::NoColon
            | Self::Name
            | Self::Value
            | Self::Twice(_)
            | Self::Lookalike(_)
            | Self::NoHost
            | Self::Host(_)
            | Self::Length
            | Self::TwoLengths
            | Self::TransferCoding
            | Self::LengthAndChunks
            | Self::Nominated(_)
            | Self::WebSocket
            | Self::Status => (400, RefusalCode::Malformed),
        }
    }
}
