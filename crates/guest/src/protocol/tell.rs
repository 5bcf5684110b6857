//! What the guest tells. The host believes none of it beyond its shape.

use serde::{Deserialize, Serialize};

use super::ChannelId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tell {
    Hello {
        version: u16,
    },
    Opened {
        channel: ChannelId,
    },
    Refused {
        channel: ChannelId,
        refusal: Refusal,
    },
    Output {
        channel: ChannelId,
        stream: Stream,
        offset: u64,
        #[serde(with = "super::blob")]
        bytes: Vec<u8>,
    },
    /// The guest takes input up to this offset.
    InputCredit {
        channel: ChannelId,
        upto: u64,
    },
    Ended {
        channel: ChannelId,
        ending: Ending,
        usage: Usage,
        output: u64,
        dropped: u64,
    },
    Channels(Vec<ChannelState>),
    Pong {
        nonce: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// There is no such program, or it cannot be executed.
    Program {
        name: String,
        errno: i32,
    },
    Directory {
        path: String,
        errno: i32,
    },
    /// This sandbox has only one user.
    NoSuchUser,
    UnknownChannel,
    ChannelInUse,
    TooManyChannels,
    /// The system refused: fork, pipe, connect.
    System {
        what: String,
        errno: i32,
    },
    /// Output before `from` is no longer kept.
    TooLate {
        kept_from: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stream {
    Out,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    Exited(i32),
    Signaled(i32),
    TimedOut,
    /// The host asked for its end.
    Killed,
    /// A file operation or a connection failed.
    Failed {
        what: String,
        errno: i32,
    },
}

/// What the program and those of its children that it waited for have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub user_micros: u64,
    pub system_micros: u64,
    pub peak_kib: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelState {
    pub channel: ChannelId,
    pub tag: String,
    /// Output so far, and the first byte of it that is still kept.
    pub output: u64,
    pub kept_from: u64,
    /// Input taken so far.
    pub input: u64,
    pub ended: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    pub kind: Kind,
    pub size: u64,
    pub mode: u32,
    pub uid: u32,
    pub modified_seconds: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    Other,
}
