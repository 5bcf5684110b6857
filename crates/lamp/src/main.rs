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
mod authorities;
mod belongings;
mod cli;
mod commands;
mod copy;
mod data_directory;
mod demo;
mod desk;
mod discretion;
mod doctor;
mod egress_log;
mod environment;
mod exit;
mod files;
mod format;
mod gatekeeper;
mod household;
mod ids;
mod kept;
mod networks;
mod outward;
mod provider;
mod reload;
mod remote;
mod report;
mod run_directory;
mod session;
mod start;
mod terminal;
mod text_file;
mod timeline;
mod token;
mod trail;
mod vault;
mod way_out;

use std::process::ExitCode;

fn main() -> ExitCode {
    start::start(std::env::args_os().collect()).into()
}
