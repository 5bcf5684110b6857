//! `lamp`: reads what a person typed, and does it.
//!
//! ```text
//!  arguments ──▶ cli (clap) ──▶ commands::<one>::run(world, out) ──▶ exit code
//!                   │                      │
//!                   └── wrong usage, 2     └── an error: report prints it once, 1
//! ```
//!
//! A command is a file in `commands/`, a variant in [`cli::Command`], a line in
//! [`start`]'s match, and a place in [`cli::GROUPS`]. Only [`environment`] reads
//! environment variables.

mod amount;
mod cli;
mod commands;
mod copy;
mod kept;
mod remote;
mod session;
mod start;
mod timeline;

use std::process::ExitCode;

fn main() -> ExitCode {
    start::start(std::env::args_os().collect()).into()
}
