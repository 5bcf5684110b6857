//! What the proxy asks the broker, and what it is told.
//!
//! The proxy (the *gateway*, as people meet it) has no rules and no secrets. For everything that wants to leave it asks one question, gets
//! one answer, and at the end says once how it went. An *exchange* is one thing that wanted to leave: a tunnel, a request, a name. Each has one
//! [`Report`], whatever became of it, and each report becomes one event of the audit log.
//!
//! ```text
//!  CONNECT api.example.com:443   ──▶ Connect ──▶ Opaque    bytes are carried, nobody looks  ─▶ Report
//!                                            ──▶ Inspect   TLS ends here; no report of its own
//!     GET /v1/things             ──▶ Request ──▶ Granted   with one credential              ─▶ Report
//!     POST /graphql              ──▶ Request ──▶ NeedBody ──▶ Request with what it says ──▶ … ─▶ Report
//!  who is api.example.com?       ──▶ Name    ──▶ Known     an address that means the name   ─▶ (none)
//! ```
//!
//! A body is read here and judged there: the broker is told names and few numbers ([`said`]), never a byte of it.
//!
//! **Invariants:** nothing is resolved or dialled before an answer allows it. An answer is for one exchange. When the broker is
//! gone, everything is refused, and the gateway ends. What the proxy says is within [`bounds`], or the connection ends.

pub mod bounds;
pub mod said;

use std::{fmt, net::IpAddr, net::SocketAddr};

pub use said::{Language, Said};
use serde::{Deserialize, Serialize};
use zeroize::Zeroize as _;

/// The longest message that the proxy sends, in bytes. A head has at most 32 KiB, and what is said about it a few times that.
pub const QUESTION_LIMIT: usize = 256 * 1024;

/// The longest message that the broker sends, in bytes: one with certificates of a company's own authority.
pub const ORDER_LIMIT: usize = 4 * 1024 * 1024;

/// The largest body that is read for the broker, but of a model's request.
pub const BODY_LIMIT: usize = 1024 * 1024;

/// The largest body of a model's request: a long conversation with pictures. It is what providers take.
pub const MODEL_BODY_LIMIT: usize = 32 * 1024 * 1024;

/// One thing that wanted to leave, numbered by the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Exchange(pub u64);

/// Where models answer inside, whoever provides them.
pub const MODEL_HOST: &str = "model.lamp.internal";

/// Whose it is: the number of a sandbox, as [`domain::id::SandboxId`] has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Whose(pub u128);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToBroker {
    /// The gateway has shut itself in, and serves.
    Ready,
    Ask {
        exchange: Exchange,
        whose: Whose,
        question: Question,
    },
    Ended {
        exchange: Exchange,
        whose: Whose,
        report: Box<Report>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToGateway {
    /// Doors come with this message, as descriptors in the order of `doors`.
    Join {
        whose: Whose,
        doors: Vec<DoorNumber>,
        authority: Authority,
    },
    /// Closes the doors and all that came through them.
    Leave {
        whose: Whose,
    },
    /// The rules are others now: every open tunnel is asked about again.
    Changed {
        whose: Whose,
        generation: u64,
    },
    Answer {
        exchange: Exchange,
        answer: Box<Answer>,
    },
}

/// `contracts::egress::DoorKind`, for the way between the two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoorNumber {
    Proxy,
    Socks,
    Port(u16),
    Names,
    NamesOverTcp,
}

/// A certificate authority that only one sandbox believes. Its key never enters the sandbox.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authority {
    /// PEM.
    pub certificate: String,
    /// PKCS #8, DER.
    pub key: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// A connection to a port of a host.
    Connect(Connect),
    /// One request, inside what was looked at closely.
    Request(Box<Request>),
    /// A name that a program looked up.
    Name { host: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connect {
    /// Canonical, as `domain::policy::HostName` writes it.
    pub host: String,
    pub port: u16,
    pub way: Way,
    /// The address and port of the program inside, by which it can be found.
    pub peer: Option<SocketAddr>,
}

/// How a program came to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    Connect,
    AbsoluteForm,
    Socks,
    Transparent,
    Names,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub host: String,
    pub port: u16,
    /// Whether the program speaks TLS with us. Credentials are never sent for one that does not, unless the host is ours.
    pub scheme: Scheme,
    /// As it was written, in capital letters.
    pub method: String,
    /// Path and query, as they were written; strictly read by the gateway already.
    pub target: String,
    pub content_type: Option<String>,
    /// The value of `Git-Protocol`, `Content-Encoding`, and the like, in small letters: only names in [`SHOWN_HEADERS`].
    pub headers: Vec<(String, String)>,
    /// What stands in it that looks like a placeholder; see `serving::placeholders`.
    pub placeholders: Vec<String>,
    /// `websocket`, when the program asks for it.
    pub upgrade: Option<String>,
    /// What its body says. Only after [`Answer::NeedBody`], and in the language that it named.
    pub body: Option<Said>,
    pub way: Way,
    pub peer: Option<SocketAddr>,
}

/// The headers that a question shows, besides the content type.
pub const SHOWN_HEADERS: [&str; 4] =
    ["content-encoding", "git-protocol", "anthropic-version", "x-goog-api-client"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheme {
    Http,
    Https,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Refused(Refusal),
    /// To [`Question::Name`]: the name may be reached. The gateway gives it an address of its own making.
    Known {
        generation: u64,
    },
    /// To [`Question::Connect`]: bytes are carried. No credential, ever.
    Opaque(Grant),
    /// To [`Question::Connect`]: each request is asked about.
    Inspect {
        generation: u64,
    },
    /// To [`Question::Request`]: ask again with what the body says in this language, if it has at most `most` bytes.
    NeedBody {
        most: u64,
        language: Language,
    },
    /// To [`Question::Request`].
    Granted(Grant),
}

/// Leave to do one thing, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    pub generation: u64,
    /// The rule that allowed it, as people write it.
    pub rule: String,
    pub dial: Dial,
    /// What to speak with the host.
    pub scheme: Scheme,
    /// Path and query to send instead of those that were asked for.
    pub target: Option<String>,
    /// Headers of the program's that are taken out first, in small letters. `-`, `_` and `.` are the same here.
    pub strip: Vec<String>,
    /// Headers that are added: credentials.
    pub set: Vec<(String, Secret)>,
    /// Placeholders that are swapped, in the places that each allows.
    pub swaps: Vec<Swap>,
    /// Values that must not come back from the host, in whatever spelling ([`domain::spellings`]).
    pub scrub: Vec<Secret>,
    pub body: Body,
    pub upgrade: Upgrade,
    /// Whether the answer tells what it cost.
    pub meter: Option<Dialect>,
    /// The most bytes each way; beyond it the exchange is cut.
    pub most_up: u64,
    pub most_down: u64,
}

/// What may be dialled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dial {
    /// The name is resolved now, and only public addresses are dialled.
    Public { host: String, port: u16 },
    /// One of these addresses, whatever the name resolves to: an internal host, or one that the operator configured.
    Pinned { host: String, port: u16, addresses: Vec<IpAddr>, authority: Option<String> },
}

/// A value that does not print, and is overwritten when it is not needed any more.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(pub String);

/// A placeholder, and what it stands for on this host.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    pub placeholder: String,
    pub value: Secret,
    pub places: Vec<Place>,
}

/// Where a placeholder may stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// Anywhere in the value of this header.
    Header(String),
    /// In the user or password of `Authorization: Basic`.
    Basic,
    /// The whole value of this parameter of the query.
    Query(String),
}

/// What is done with the request's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    Relay,
    /// Git's `receive-pack`: its commands are read before a byte is sent.
    ReceivePack {
        branches: Vec<String>,
        most_pack: u64,
    },
    /// Git's `upload-pack`: a request of that protocol, and of nothing else.
    UploadPack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Upgrade {
    Refused,
    WebSocket,
}

/// In which language an answer tells what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dialect {
    AnthropicMessages,
    OpenaiChat,
    OpenaiResponses,
    Gemini,
}

/// What an answer of a model said that it used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub model: Option<String>,
    /// Without what was read from or written to a cache.
    pub input_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    /// Whether the answer came to its end, so that the numbers are final.
    pub complete: bool,
}

/// Why something does not leave, for a program and for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The HTTP status that says it best.
    pub status: u16,
    pub code: RefusalCode,
    pub host: String,
    pub port: u16,
    /// `implement`, …; empty when the gateway refused by itself.
    pub phase: String,
    /// The rule or layer that decided, if one did.
    pub rule: Option<String>,
    /// One sentence.
    pub reason: String,
    /// What a person can do about it, as one sentence; empty when there is nothing.
    pub remedy: String,
}

/// Stable words for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalCode {
    /// No rule allows it.
    NotAllowed,
    /// A rule forbids it.
    Forbidden,
    /// It cannot be read in one way only.
    Malformed,
    /// CONNECT, SNI and Host do not say the same.
    Mismatch,
    /// The name leads to an address that nobody may dial.
    Address,
    /// Something that is never carried: h2c, ECH, TRACE, an upgrade.
    Unsupported,
    /// Too many, too much, too slow.
    Limit,
    /// Money or bytes are used up.
    Budget,
    /// Git: not this repository, branch or kind of change.
    Push,
    /// A credential is missing or was withdrawn.
    Credential,
    /// The host cannot be reached, or its certificate is not believed.
    Upstream,
    /// The broker is gone.
    Closed,
}

/// How an exchange went. Written down once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub host: String,
    pub port: u16,
    pub way: Way,
    /// Method and path, of a request. Without the query, which may hold what nobody should read.
    pub request: Option<(String, String)>,
    pub outcome: Outcome,
    pub bytes_up: u64,
    pub bytes_down: u64,
    /// Where it was dialled.
    pub address: Option<IpAddr>,
    /// From the first byte to the end.
    pub millis: u64,
    /// From the first byte to the first byte of the host's answer.
    pub first_byte_millis: Option<u64>,
    pub usage: Option<Usage>,
    pub peer: Option<SocketAddr>,
    pub generation: Option<u64>,
    pub rule: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The status of a request's answer; none for a tunnel.
    Done {
        status: Option<u16>,
    },
    Refused(Refusal),
    /// It was allowed, and ended badly.
    Broken {
        reason: String,
    },
}

impl RefusalCode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAllowed => "not_allowed",
            Self::Forbidden => "forbidden",
            Self::Malformed => "malformed",
            Self::Mismatch => "mismatch",
            Self::Address => "address",
            Self::Unsupported => "unsupported",
            Self::Limit => "limit",
            Self::Budget => "budget_hit",
            Self::Push => "push",
            Self::Credential => "credential",
            Self::Upstream => "upstream",
            Self::Closed => "closed",
        }
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Debug for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swap").field("places", &self.places).finish_non_exhaustive()
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}
