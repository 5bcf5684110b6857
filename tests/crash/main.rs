//! Kill anything at any moment: no task lost, no pull request doubled, no orphan left (RE1).
//!
//! Each test plays complete histories on a real database with the engine in a process of its own,
//! kills it with SIGKILL, starts another, and counts what really happened outside.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say so")]

mod between_events;
mod full_disk;
mod two_engines;

use std::path::PathBuf;

use tests::player::Program;

fn program() -> Program {
    Program(PathBuf::from(env!("CARGO_BIN_EXE_scripted-engine")))
}
