//! A command inside, over a WebSocket.
//!
//! ```text
//!  client                                     server
//!  text   StartExec ───────────────────────▶
//!  binary 0 stdin… ────────────────────────▶
//!         ◀─────────────────────────────────  text   {"type":"taken","bytes":…}   room for as much again
//!         ◀─────────────────────────────────  binary 1 stdout…, binary 2 stderr…
//!  text   {"type":"resize"|"signal"|"end_input"} ▶
//!         ◀─────────────────────────────────  text   {"type":"finished",…} or {"type":"failed",…}, then close
//! ```
//!
//! A binary message is one byte that says which stream, and then the bytes. A client may be [`WINDOW`] bytes of
//! input ahead of what was taken. Closing the socket ends the command with all that it started. When the server is stopped, it says
//! `failed` with the code `stopped`, and the command goes on: the same name attaches to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::Problem;

/// How many bytes of input may be on their way.
pub const WINDOW: usize = 256 * 1024;

/// The most bytes that one message may have, in either direction.
pub const MESSAGE_LIMIT: usize = 1 << 20;

/// The first message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartExec {
    /// A name within the sandbox. Whoever repeats it gets the first answer, or attaches to what still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub argv: Vec<String>,
    /// Beside the usual `PATH`, `HOME`, `USER`, `LANG` and `TERM`, which it may replace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The user's home, when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    #[serde(default)]
    pub user: User,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<Size>,
    /// Ended with everything that it started when this has passed; the sandbox's lifetime when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_millis: Option<u64>,
    /// Bytes of output that are passed on; without limit when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_limit: Option<u64>,
    /// Secrets whose values this one process gets as variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expose: Option<ExposeSecrets>,
}

/// Secrets that enter the sandbox, for one process alone. Each must say `expose: env`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExposeSecrets {
    pub names: Vec<String>,
    /// The agent that the process is of. A secret that names agents is for theirs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Said by whoever means it in a sandbox of the tier `untrusted`.
    #[serde(default)]
    pub even_untrusted: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum User {
    /// The ordinary user that agents are.
    #[default]
    Agent,
    /// Root over the sandbox's own files, and over nothing else.
    Root,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// What the client says as text, after [`StartExec`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientSays {
    Resize(Size),
    Signal { signal: i32 },
    EndInput,
}

/// What the server says as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerSays {
    /// So many more bytes of input were taken.
    Taken {
        bytes: u64,
    },
    Finished(Finished),
    Failed {
        error: Problem,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finished {
    pub ending: Ending,
    /// Whether output was dropped, because there was too much.
    pub cut: bool,
    pub cpu_millis: u64,
    pub memory_mib_seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Exited { code: i32 },
    Killed { signal: i32 },
    TimedOut {},
    OutOfMemory { peak_mib: u32 },
}

/// The first byte of a binary message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    Input,
    Out,
    Error,
}

impl Tag {
    pub const fn byte(self) -> u8 {
        match self {
            Self::Input => 0,
            Self::Out => 1,
            Self::Error => 2,
        }
    }

    /// A whole message.
    pub fn message(self, bytes: &[u8]) -> bytes::Bytes {
        let mut message = Vec::with_capacity(bytes.len() + 1);
        message.push(self.byte());
        message.extend_from_slice(bytes);
        message.into()
    }

    /// Which stream a message is of, and its bytes.
    pub fn split(mut message: bytes::Bytes) -> Option<(Self, bytes::Bytes)> {
        let tag = match message.first()? {
            0 => Self::Input,
            1 => Self::Out,
            2 => Self::Error,
            _unknown => return None,
        };
        Some((tag, message.split_off(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_tag_and_its_bytes() {
        for tag in [Tag::Input, Tag::Out, Tag::Error] {
            let (read, bytes) = Tag::split(tag.message(b"x\0y")).unwrap();
            assert_eq!((read, bytes.as_ref()), (tag, &b"x\0y"[..]));
        }
        assert_eq!(Tag::split(bytes::Bytes::new()), None);
        assert_eq!(Tag::split(bytes::Bytes::from_static(b"\x09x")), None);
    }

    #[test]
    fn texts_read_as_they_are_written() {
        let size = ClientSays::Resize(Size { columns: 80, rows: 24 });
        let text = serde_json::to_string(&size).unwrap();
        insta::assert_snapshot!(text, @r#"{"type":"resize","columns":80,"rows":24}"#);
        assert_eq!(serde_json::from_str::<ClientSays>(&text).unwrap(), size);
        let finished = ServerSays::Finished(Finished {
            ending: Ending::TimedOut {},
            cut: false,
            cpu_millis: 12,
            memory_mib_seconds: 0,
        });
        let text = serde_json::to_string(&finished).unwrap();
        insta::assert_snapshot!(text, @r#"{"type":"finished","ending":{"timed_out":{}},"cut":false,"cpu_millis":12,"memory_mib_seconds":0}"#);
        assert_eq!(serde_json::from_str::<ServerSays>(&text).unwrap(), finished);
    }
}
