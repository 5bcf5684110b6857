//! The raw facts about one computer, before anybody judges them.

use std::{collections::BTreeMap, path::PathBuf};

use jiff::Timestamp;
use terminal::data_directory::Account;

use super::attempt::{Attempt, Outcome};

#[derive(Debug, Clone)]
pub struct Host {
    pub(crate) account: Account,
    pub(crate) kernel: Kernel,
    pub(crate) machine: Machine,
    pub(crate) now: Timestamp,
    pub(crate) attempts: BTreeMap<Attempt, Outcome>,
    pub(crate) user_namespaces: UserNamespaceSettings,
    pub(crate) seccomp: Seccomp,
    pub(crate) cgroups: Cgroups,
    pub(crate) virtualisation: Virtualisation,
    pub(crate) data: Data,
    pub(crate) configuration: Option<Configuration>,
    pub(crate) programs: BTreeMap<Program, Found>,
    /// Of version managers, with the version that sandboxes get first.
    pub(crate) toolchains: Vec<String>,
}

impl Host {
    /// The same, with the toolchains that sandboxes of this person's server see. Whoever shows them knows which they are.
    #[must_use]
    pub fn with_toolchains(self, toolchains: Vec<String>) -> Self {
        Self { toolchains, ..self }
    }
}

/// As `uname` says it.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    pub(crate) system: String,
    pub(crate) release: String,
    pub(crate) architecture: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Machine {
    /// How many processors this process may use.
    pub(crate) processors: Option<usize>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) available_bytes: Option<u64>,
    /// What the control group around this process allows.
    pub(crate) memory_limit_bytes: Option<u64>,
}

/// The switches with which distributions turn user namespaces off.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserNamespaceSettings {
    /// `user.max_user_namespaces`
    pub(crate) most: Option<u64>,
    /// `kernel.unprivileged_userns_clone`
    pub(crate) unprivileged_clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`
    pub(crate) apparmor_restricts: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Seccomp {
    /// `kernel.seccomp.actions_avail`; nothing where the kernel has no filters.
    pub(crate) actions: Option<Vec<String>>,
    /// Filters that already hold this process, as in a container.
    pub(crate) filters: Option<u64>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Cgroups {
    pub(crate) hierarchies: Hierarchies,
    pub(crate) controllers: Vec<Controller>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hierarchies {
    #[default]
    None,
    V1,
    /// Both are mounted, and the controllers are divided between them.
    Hybrid,
    V2,
}

#[derive(Debug, Clone)]
pub(crate) struct Controller {
    pub(crate) name: String,
    pub(crate) access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Writable,
    ReadOnly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Virtualisation {
    NoDevice,
    DeviceRefused,
    /// `/dev/kvm` opens, but the processor shows neither `vmx` nor `svm`.
    WithoutProcessor,
    /// Not x86, where an open device is all there is to see.
    DeviceOpens,
    Usable,
}

#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub(crate) directory: PathBuf,
    pub(crate) place: Place,
    pub(crate) disk: Option<Disk>,
}

/// What stands where the data directory is to be.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A file was written there and removed.
    Written {
        mode: u32,
    },
    Refused {
        error: String,
    },
    NotADirectory,
    /// Not there yet; the nearest directory above it may be written.
    Creatable {
        above: PathBuf,
    },
    NotCreatable {
        above: PathBuf,
        error: String,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) free_bytes: u64,
    /// Nothing where the file system does not count them.
    pub(crate) free_inodes: Option<u64>,
    /// As in `/proc/self/mountinfo`: `ext4`.
    pub(crate) file_system: Option<String>,
}

/// `lamp.yaml`, if one was named.
#[derive(Debug, Clone)]
pub(crate) enum Configuration {
    Wrong { file: String, problems: usize },
    Unreadable { file: String, error: String },
    Right { file: String, database: Database },
}

/// Where the configuration keeps the events.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    /// No word about it: `SQLite` in the data directory.
    InDataDirectory,
    Sqlite {
        file: PathBuf,
        answer: Result<(), String>,
    },
    /// `host:port`, and what connecting to it said.
    Postgres {
        address: String,
        answer: Result<(), String>,
    },
    /// Reached by a socket of this computer, which only the server's own protocol can test.
    PostgresSocket,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    Git,
    Runsc,
    MkfsBtrfs,
    Postgres,
    Runc,
    Bwrap,
}

impl Program {
    pub(crate) const ALL: [Self; 6] =
        [Self::Git, Self::Runsc, Self::MkfsBtrfs, Self::Postgres, Self::Runc, Self::Bwrap];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Runsc => "runsc",
            Self::MkfsBtrfs => "mkfs.btrfs",
            Self::Postgres => "postgres",
            Self::Runc => "runc",
            Self::Bwrap => "bwrap",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Found {
    Nowhere,
    /// It runs; its version is the first line that it printed.
    Runs {
        version: String,
    },
    /// It is on the `PATH`, and was not asked for a version.
    There {
        path: PathBuf,
    },
    Broken {
        path: PathBuf,
        error: String,
    },
}
