//! A computer for one run, on this host.
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

pub use provider::{Provider, StartError};
pub use runtime::Runtime;
pub use settings::{PoolSettings, Retention, Settings, Walls};
