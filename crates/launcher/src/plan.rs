//! A sandbox to launch, down to every mount, and what came of it.
//!
//! Plans come from the server alone, over a socket that it made; nothing from inside a sandbox is in them.
//! They travel as `guest::protocol` frames do: four bytes of length, then the message.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    Launch(Box<Launch>),
    /// Lets go of all that is kept open of a layer, so that it can be removed. The directory that writable directories lie
    /// in is kept open as a layer is: name it before its file system is unmounted.
    Release {
        layer: String,
    },
    Ping,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Where to listen for the server: a path on the host. The listening socket is handed to the guest; the path
    /// does not exist inside.
    pub control: String,
    pub users: Users,
    pub strictness: Strictness,
    /// Read-only directories, the uppermost first.
    pub layers: Vec<String>,
    /// A directory with `upper` and `work` in it.
    pub writable: String,
    /// Mounted over the root, in this order.
    pub binds: Vec<Bind>,
    /// Directories inside that nothing can change, with all below them: absolute, and no links. They exist.
    pub sealed: Vec<String>,
    /// Directories of control groups that the first process joins before it runs.
    pub control_groups: Vec<String>,
    pub hostname: String,
    /// The size of `/dev/shm`.
    pub shared_memory_bytes: u64,
    pub open_files: u64,
    /// How many processes and threads it may have; `None` where a control group holds them.
    pub processes: Option<u64>,
    /// How much memory of its own each process may have; `None` where a control group holds that of all.
    pub private_memory_bytes: Option<u64>,
    /// The guest ends by itself after this, even when no server is left to end it.
    pub lifetime_millis: u64,
}

/// Which ids of the host stand behind the ids inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Users {
    /// 65,536 ids from `base` on: neither the first 65,536, nor any between [`STORED_IDS`] and [`MOUNTER`] and the 65,536
    /// after that. Needs root. Layers and the writable directory are stored with ids from
    /// [`STORED_IDS`] on, and shown shifted.
    Range { base: u32 },
    /// The launcher's own user, who is [`AGENT`] inside; never root. Files are stored as they are.
    Single,
}

/// The first id of files in layers on the disk. High, and nobody's: a set-uid bit in a layer means nothing on the host.
pub const STORED_IDS: u32 = 0x7000_0000;

/// How many ids a sandbox has.
pub const IDS: u32 = 65_536;

/// Who the mounter of an overlay is, on the disk: the owner of `work`.
pub const MOUNTER: u32 = STORED_IDS + IDS;

/// The user, and group, that agents are inside.
pub const AGENT: u32 = 1_000;

/// How much of the kernel is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strictness {
    /// Every system call but those that are known to be dangerous.
    Denylist,
    /// Only system calls that are known to be needed, and Landlock.
    Allowlist,
}

/// A directory or file of the host, read-only inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    pub from: String,
    /// Absolute, inside. Its parents exist in a layer.
    pub to: String,
}

/// A sandbox whose walls an OCI runtime builds. The launcher takes one as its only order when it is started for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hosted {
    /// As for any other; how strict, the host name and the limits of processes are the runtime's business.
    pub launch: Launch,
    /// A path on the host.
    pub runtime: String,
    pub arguments: Vec<String>,
    /// The runtime's `config.json`. It lies in [`STAGE`], beside the root in `rootfs`, the program of the guest in
    /// `guest/lamp-guest`, and an empty directory `state`.
    pub config: String,
    /// What the guest is greeted with, as a frame. Greetings, and the answers to them, begin alike.
    pub greeting: Vec<u8>,
    /// The longest message of the guest's protocol.
    pub frame_limit: u32,
}

/// Where a runtime finds what it needs, in a mount namespace of its own.
pub const STAGE: &str = "/stage";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    Launched {
        /// On the host.
        pid: u32,
        /// In clock ticks since boot, as `/proc/PID/stat` tells: with the pid, a name that is never used twice.
        started: u64,
    },
    Failed(Failure),
    Done,
}

/// Doors to open in the network of a sandbox. The launcher takes this as its only order when it is started for it, and answers with
/// the sockets of those that it could open, in one message after the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doors {
    /// The first process, by the name that is never used twice.
    pub pid: u32,
    pub started: u64,
    pub doors: Vec<Doorway>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Doorway {
    pub transport: Transport,
    pub reached: Reached,
    pub port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Transport {
    Tcp,
    Udp,
}

/// Which addresses lead to a door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reached {
    /// 127.0.0.1.
    Loopback,
    /// Every address there is.
    AnyAddress,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoorsAnswer {
    /// Their sockets follow, in this order; no message follows when there are none.
    Opened(Vec<Doorway>),
    Failed(Failure),
}

/// The step that fails where a place to seal is not what it should be.
pub const SEALING: &str = "seal a directory";

/// Nothing is left behind when a launch fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {reason}")]
pub struct Failure {
    /// Which wall could not be built, as a phrase: `mount the root`.
    pub step: String,
    pub errno: i32,
    pub reason: String,
}
