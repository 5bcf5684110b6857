//! Reads the files that people write, and points at the line that is wrong.
//!
//! | file | owner | here |
//! |---|---|---|
//! | `policy.yaml` | security team | [`policy::PolicyFile`] |
//! | `lamp.yaml` | platform team | [`server::ServerFile`] |
//! | `agents/*.yaml` | repository team | [`agent::AgentFile`] |
//! | tables for `lamp policy test` | whoever owns the policy | [`expectations::ExpectationsFile`] |
//!
//! Begin with [`check`]: text in, a typed file or every problem out. What comes
//! out cannot be wrong; nothing behind this room looks at YAML or at a string
//! that means something. Each file is also a layer of policy (`layer()`), to be
//! folded by [`domain::policy::effective`].

pub mod agent;
pub mod expectations;
mod file;
mod layers;
pub mod names;
mod nearest;
pub mod owned;
pub mod policy;
mod problem;
pub mod reference;
pub mod rules;
mod secret;
pub mod server;
mod shape;
pub mod text_file;
mod unheard;
mod unique;
pub mod units;
mod version;
mod yaml;

pub use file::{Checked, FileKind, check, check_as};
pub use problem::{InvalidFile, Problem};
pub use shape::Count;
pub use unheard::unheard;
pub use version::Version;
