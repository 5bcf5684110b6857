//! What the host asks.

use serde::{Deserialize, Serialize};

/// A channel, as the host numbers it. Never used twice while the guest remembers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChannelId(pub u32);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// First on every connection. A new connection takes the place of the one before.
    Hello {
        version: u16,
    },
    /// Begins a job. Answered by `Opened` or `Refused`.
    Open {
        channel: ChannelId,
        tag: String,
        job: Job,
    },
    /// Sends again the output after `from`, and `Ended` if it has ended. Answered by `Opened` or `Refused`.
    Attach {
        channel: ChannelId,
        from: u64,
    },
    /// `offset` is where these bytes stand in all the channel's input; what the guest already has is skipped. Bytes
    /// that stand beyond what it has mean that some were lost: the connection is dropped.
    Input {
        channel: ChannelId,
        offset: u64,
        #[serde(with = "super::blob")]
        bytes: Vec<u8>,
    },
    /// On a terminal, the character that means the end is typed, if its program reads lines.
    EndInput {
        channel: ChannelId,
    },
    Signal {
        channel: ChannelId,
        signal: i32,
    },
    Resize {
        channel: ChannelId,
        size: Size,
    },
    /// The guest may send output up to this offset, and need not keep what lies below `taken`. Both only grow, also
    /// over connections; a program waits when [`super::RING`] bytes were not taken.
    Credit {
        channel: ChannelId,
        taken: u64,
        upto: u64,
    },
    /// Ends the job and all that it started. Output that was not sent is dropped, so that `Ended` needs no credit.
    Kill {
        channel: ChannelId,
    },
    /// Forgets a channel. One that has not ended is killed first, and nothing more is told about it.
    Forget {
        channel: ChannelId,
    },
    /// Which channels are there? Answered by `Channels`.
    Channels,
    Ping {
        nonce: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Job {
    Program(Program),
    File {
        who: Who,
        job: FileJob,
    },
    /// A TCP connection to this port on the loopback inside.
    Forward {
        port: u16,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The first is looked up in the `PATH` of `environment`, unless it has a `/`.
    pub argv: Vec<String>,
    /// The whole environment; nothing is inherited.
    pub environment: Vec<(String, String)>,
    pub directory: String,
    pub who: Who,
    pub terminal: Option<Size>,
    /// Milliseconds until the program and all that it started are killed. 0: no limit.
    pub wall_millis: u64,
    /// Output beyond this is read and dropped.
    pub output_limit: u64,
    /// Whether what it leaves running is killed when it ends.
    pub sweeps: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Who {
    Agent,
    Root,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// Done by a child of the guest that has become the user, so that it can do no more than the user can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileJob {
    /// Output: one `Entry`.
    Stat { path: String },
    /// Output: `Entry` after `Entry`, each as a frame.
    List { path: String },
    /// Output: the content.
    Read { path: String },
    /// Input: the content. Written beside the path, and moved over it when the input has ended.
    Write { path: String, mode: u32 },
    /// Output: a tar archive. Names are relative to a directory; a file has its own name.
    TarOut { path: String },
    /// Input: a tar archive, unpacked below the path, which is made if only its parent exists.
    TarIn { path: String },
    /// Output: the name of each path that changes, each as a frame, until killed. An empty name comes first, when the
    /// watch stands, and whenever changes were missed: look for yourself.
    Watch { path: String },
}
