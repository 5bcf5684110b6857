//! Where a person starts the program: its environment, its usual places, and words that are safe to show there.
//!
//! ```text
//!  environment ──▶ data_directory, run_directory, token     where a server on this computer keeps things, and how it is reached
//!  colors, format, exit                                     for whom something is printed, and with which number it ends
//!  report ◀── refusal, clean                                what went wrong and what to do; nothing in it speaks to the terminal
//! ```
//!
//! What every command needs and no command is about. `lamp`, `demo`, `doctor` and `server` use it; it knows none of them.

pub mod clean;
pub mod colors;
pub mod data_directory;
pub mod environment;
pub mod exit;
pub mod format;
pub mod refusal;
pub mod report;
pub mod run_directory;
pub mod token;
