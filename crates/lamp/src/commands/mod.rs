//! One file per command: its doc comment is the help, its struct the arguments.
//!
//! `run` takes what the command needs from the outside and a writer, so that it
//! can be tested without a process.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod egress;
pub(crate) mod image;
pub(crate) mod policy;
pub(crate) mod pr;
pub(crate) mod restore;
pub(crate) mod sandbox;
pub(crate) mod secret;
pub(crate) mod task;
pub(crate) mod up;
pub(crate) mod version;
