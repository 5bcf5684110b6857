//! The program git on this host: a closed environment, limits, addresses, mirrors.
//!
//! Whoever needs git outside of a sandbox runs it through this room: mirrors that sandboxes stand on, and forges that take work out of
//! them, read it and push it.
//!
//! ```text
//!  an address ──▶ Source ──fetch──▶ Mirrors: acme+web.git (bare, 0700) ──objects, read-only──▶ sandboxes
//!                   ▲                    │
//!                   └──── look, push ────┴── Git::on ─▶ one closed environment, one list of settings
//!                                            run     ─▶ one Allowance: time, memory, files, what it says
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `program` | [`Git`]: the environment and the settings, and what is asked often |
//! | `run` | [`Allowance`] and [`Running`]: to its end, within its limits, with all that it started |
//! | `source` | [`Source`]: an address that cannot make git run a program of its choice |
//! | `remote` | [`Far`], [`Update`]: refs of the other side, looked at, brought here, and changed only from what they were |
//! | `mirrors` | [`Mirrors`]: bare repositories that follow their sources and lose no object |
//! | `blobs`, `difference`, `touched` | contents one after the other; what differs between two trees, as a list and as a patch |
//! | [`inside`] | what a sandbox's own git is told, as a text |
//! | [`shown`] | hostile text, fit to be shown |
//!
//! Invariants: git works on bare repositories of ours alone and checks nothing out. It hears no setting but ours, runs no hook, filter or
//! program of a repository's choice, and asks nobody anything. What git says about hostile objects is read by strict readers.
//! [Decision 20](../../../docs/decisions/0020-git-on-the-host.md) says why each limit is what it is.

mod blobs;
mod difference;
pub mod inside;
mod mirror;
mod mirrors;
mod program;
mod ref_name;
mod remote;
mod run;
pub mod shown;
mod source;
#[cfg(test)]
mod tests;
mod touched;

pub use blobs::Blobs;
pub use difference::Patch;
pub use mirror::Mirror;
pub use mirrors::{Alone, FetchLimits, Filed, MirrorError, Mirrors, References};
pub use program::{Git, Hash};
pub use ref_name::RefName;
pub use remote::{Far, PushError, Update};
pub use run::{Allowance, GitError, QUICK, Ran, Running, Succeeded, run};
pub use source::{Source, SourceError, Transport};
pub use touched::{Mode, ObjectName, RawError, Side, Touched, read as read_touched};
