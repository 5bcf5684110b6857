//! What the provider is told at its start.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use contracts::{egress::Road, ids::IdSource};
use domain::time::Timestamp;
use images::base::host::Tools;

use crate::runtime::Runtime;

#[derive(Clone)]
pub struct Settings {
    /// Where disks, layers, mirrors and records are kept.
    pub data: PathBuf,
    /// Where sockets are. Short: the kernel allows 107 bytes for the whole path of one.
    pub run: PathBuf,
    /// Directories of the host that a sandbox on the `host` base sees besides `/usr`.
    pub toolchains: Vec<PathBuf>,
    /// How what is in them is found.
    pub tools: Tools,
    /// The most that disks and images may use together.
    pub disk_bytes: u64,
    /// How much of its disk's limit is kept free for every sandbox that is open.
    pub disk_guaranteed_bytes: u64,
    pub retention: Retention,
    pub pool: PoolSettings,
    pub walls: Walls,
    /// The way out. Without one, sandboxes reach nothing.
    pub road: Option<Arc<dyn Road>>,
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    pub ids: Arc<dyn IdSource>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data, run, retention, pool, .. } = self;
        let mut shown = f.debug_struct("Settings");
        shown.field("data", data).field("run", run);
        shown.field("retention", retention).field("pool", pool).finish_non_exhaustive()
    }
}

/// Who builds the walls of sandboxes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Walls {
    /// Our own launcher, and gVisor for the tier `untrusted`.
    #[default]
    ByTier,
    /// One runtime for every tier: to compare.
    All(Runtime),
}

/// What becomes of sandboxes and images that nothing uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Idle for this long: frozen.
    pub freeze_after: Duration,
    /// Idle for this long: its disk is kept, and nothing else.
    pub rest_after: Duration,
    /// Resting for this long: removed.
    pub delete_after: Duration,
    /// An image that nothing stood on for this long is removed.
    pub forget_images_after: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            freeze_after: Duration::from_mins(15),
            rest_after: Duration::from_hours(1),
            delete_after: Duration::from_hours(24 * 14),
            forget_images_after: Duration::from_hours(24 * 30),
        }
    }
}

/// How many computers wait for somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSettings {
    /// For one image, tier and size.
    pub most_of_a_kind: u32,
    /// In all.
    pub most: u32,
    /// A kind that nobody asked for in this time is drained.
    pub drain_after: Duration,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self { most_of_a_kind: 4, most: 16, drain_after: Duration::from_mins(10) }
    }
}
