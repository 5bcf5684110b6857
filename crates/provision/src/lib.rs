//! What a task gets by the server's files: who works, in what, with which way out, within which limits.

pub mod agents;
pub mod files;
pub mod layers;
pub mod models;
pub mod network;
pub mod outfit;
pub mod roster;
pub mod server_files;
pub mod way_out;

/// Who does what comes through the doors: there are no accounts yet.
pub const OWNER: &str = "local";
