//! A computer for one run, on this host.
//!
//! `docs/concepts/sandbox.md` says what a sandbox is and what its walls are. This is how it is made.
//!
//! ```text
//!  lamp up                                        static, one thread              one per sandbox
//! ┌───────────────────────────┐   plan   ┌──────────────┐  plan, mounts ┌──────────┐ becomes ┌────────────┐
//! │ sandbox                   │─────────▶│ launcher     │──────────────▶│ standby  │────────▶│ guest      │
//! │  provider  records  slots │◀─────────│  idmap       │   by fd       │ (waiting │         │ (pid 1)    │
//! │  pool  meter  link        │ pid,     │  mounts      │               │  in its  │         │ supervisor │
//! │  control groups  mirrors  │ start    │  standbys    │               │  walls)  │         │  program   │
//! │ images: layers, disks     │          └──────────────┘               └──────────┘         └────────────┘
//! └───────────────────────────┘                                                                   ▲
//!         └──────────────── frames over a unix socket, dialled by the server ─────────────────────┘
//! ```
//!
//! - **launcher** is a process of its own, started by the server, single-threaded, with a socket as its standard input. It keeps a few
//!   *standbys*: first processes that already stand in their namespaces and wait for a plan. A launch gives one of them its ids, its
//!   mounts as file descriptors and its control groups; it drops what is left to drop, and becomes the guest. When the launcher dies, the next
//!   launch starts another; sandboxes live on.
//!   Decision 6.
//! - **guest** is the first process inside: one thread, one loop. It starts programs, each below a supervisor that adopts what loses its
//!   parent, moves bytes, and does file work in children that have become the user. It speaks only about what it was asked.
//!   Decision 8.
//! - A **body** is what runs: first process, control group, range of ids, link. A sandbox has one at a time, and none while it rests. A body that
//!   was used is never used again. A waiting member of the **pool** is a body that belongs to nobody.
//! - A **record** is what is remembered of a sandbox, as a file: owner, limits, state, disk, stack, body. It is enough for the next server to find
//!   everything again: the process by its pid and start time, the guest by its socket. A destroyed id is kept for more than a year, so that no
//!   repeated call brings it back.
//! - A **slot** is a range of 65,536 ids of the host. No two bodies have the same, not even those of two servers on one host: each claims
//!   blocks of slots for its data directory, in `/run/lamplighter-ids`. A slot is free again only when the last process and the
//!   control group are gone.
//! - A **stack** is what a sandbox stands on: layers by name, and what of the host is shown. It is frozen when the sandbox is first opened, so
//!   that waking finds the same.
//! - **images** keeps layers and disks. Files are stored with ids that are nobody's, and every sandbox sees them mapped to its own range. As
//!   root, disks are subvolumes of a btrfs pool with a limit that the kernel holds; otherwise they are directories that are watched.
//!   Decision 7.
//! - **oci** is the second way to build walls, for the tier `untrusted`: the launcher makes a box of namespaces with the sandbox's ids, and in it
//!   `runsc` (gVisor) runs the same guest, on its standard input and output. The first process of the box carries the frames. To everything else it
//!   is a body like any other. `runc` can be put in its place, to compare.
//! - **mirrors** are bare repositories on the host. Their objects are shown inside read-only, and the sandbox's own git checks the files out.
//! - **meter** adds up what the control groups count, over all bodies, into rows of a ledger that never decrease.
//!
//! A guest and a launcher are built by `crates/sandbox/build.rs` and embedded (decision 9); at run
//! time both are sealed files in memory. Images are built by a setup that runs in a sandbox of its own
//! (decision 10).
//!
//! | module | what it holds |
//! |---|---|
//! | [`provider`] | the sandboxes themselves: [`Provider`] keeps the promises of `contracts::sandbox` |
//! | `body` | what runs of one: first process, control group, ids, link |
//! | `spawner` | the launcher as a process |
//! | `oci` | sandboxes that an OCI runtime hosts: gVisor for the tier `untrusted` |
//! | `link` | the server's end of the stream to a guest, which is not trusted |
//! | `record`, `stack`, `slots`, `turns` | what is remembered of each; what it stands on; its ids; whose turn it is |
//! | [`control_groups`], [`meter`] | limits and counters; what was used, and who pays |
//! | [`repositories`] | how the mirrors of `git` come inside |

mod answers;
mod body;
pub mod control_groups;
mod link;
pub mod meter;
mod oci;
mod orphans;
pub mod provider;
mod record;
pub mod repositories;
mod runtime;
mod settings;
mod slots;
mod spawner;
mod stack;
mod ties;
mod turns;
mod watch;

pub use images::base::host::Tools;
pub use provider::{Provider, StartError};
pub use runtime::Runtime;
pub use settings::{PoolSettings, Retention, Settings, Walls};
