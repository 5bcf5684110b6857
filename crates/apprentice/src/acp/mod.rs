//! The protocol that the platform speaks with the agent: ACP, version 1.
//!
//! ```text
//!  -> initialize, session/new | session/load | session/resume, session/prompt      requests, each with one answer
//!  -> session/cancel                                                               a notification
//!  <- session/update                                                               what happens, while a prompt is worked on
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `wire` | lines in, lines out; what a message is |
//! | `server` | who does what |
//!
//! It never asks for permission: the sandbox is the boundary.

mod replay;
mod server;
mod wire;

pub use crate::{outlet::Outlet, updates::Updates};
pub use server::{Ended, serve};
