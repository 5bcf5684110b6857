//! What the host and the guest say to each other.
//!
//! The host drives: the guest speaks only about what it was asked. Both directions are frames over one byte
//! stream, so that the same protocol serves a unix socket, a vsock and a pod's stream.
//!
//! Work happens in *channels*. A channel is a program, a file operation or a connection to a port; all of them
//! take bytes in, give bytes out, and end. Every number that counts bytes counts from the channel's beginning,
//! so that after a lost connection both sides can say again where they are, and nothing is lost or doubled:
//!
//! ```text
//!   host                                   guest
//!   Hello ────────────────────────────────▶
//!         ◀──────────────────────────────── Hello
//!   Open{channel 1, tag, program} ────────▶  fork, exec
//!         ◀──────────────────────────────── Opened
//!   Credit{1, upto 65536} ────────────────▶  may send the first 65536 bytes of output
//!         ◀──────────────────────────────── Output{1, offset 0, …}
//!   ~~ the server is restarted; the program waits when the ring is full ~~
//!   Hello, Channels ──────────────────────▶
//!         ◀──────────────────────────────── Hello, Channels[{1, tag, …}]
//!   Attach{1, from 1200} ─────────────────▶  sends again what came after byte 1200
//! ```

mod ask;
mod blob;
mod frame;
mod tell;

pub use ask::{Ask, ChannelId, FileJob, Job, Program, Size, Who};
pub use frame::{Decoder, FRAME_LIMIT, FrameError, encode};
pub use tell::{ChannelState, Ending, Entry, Kind, Refusal, Stream, Tell, Usage};

/// The version that both must speak. A guest is never older than its server: it is part of it.
pub const VERSION: u16 = 1;

/// The most bytes that one `Input` or `Output` carries.
pub const CHUNK: usize = 32 * 1024;

/// How much output a channel keeps for a host that was cut off.
pub const RING: usize = 256 * 1024;

/// How many channels may be known at once, ended ones that were not forgotten included.
pub const CHANNELS: usize = 1024;

/// The longest tag of a channel, in bytes.
pub const TAG: usize = 128;

/// How much input the guest holds for a program that does not read.
pub const INPUT_WINDOW: usize = 64 * 1024;
