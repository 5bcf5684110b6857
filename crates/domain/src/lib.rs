//! What a task is, and which changes to it are allowed. No IO, no async, no clock, no randomness.
//!
//! Begin with [`task`]: the life of one task, and the three functions that hold its rules. The other
//! modules are the things that those rules speak of.

pub mod agent;
pub mod approval;
pub mod attempts;
pub mod code;
pub mod cost;
pub mod definition;
pub mod digest;
pub mod failure;
pub mod finding;
pub mod headline;
pub mod id;
pub mod limits;
pub mod money;
pub mod people;
pub mod phase;
pub mod plan;
pub mod policy;
pub mod progress;
pub mod question;
pub mod queue;
pub mod request;
pub mod shell;
pub mod spellings;
pub mod task;
pub mod time;
pub mod transcript;
pub mod visible;
