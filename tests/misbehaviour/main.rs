//! Models and agents that misbehave, one row for each way: every run ends in a failure with a name and with the last lines, nothing of it is left
//! inside, and the server answers everybody else meanwhile and does not grow. With the real `lamp up`, real sandboxes, and the real gateway in
//! the toy internet.
//!
//! | file | what is played |
//! |---|---|
//! | `models.rs` | a model that is slow, hangs, lies, refuses, floods, or is not there, to the built-in agent |
//! | `agents.rs` | agents that crash, hang, forge and leave things behind |
//! | `floods.rs` | more than anybody wants to hear, and a fork bomb |
//! | `people.rs` | a person who stops an agent, or is cut off |
//!
//! What the agents do is in `hostile.py`; a row names it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot begin fails"
)]
#![allow(clippy::print_stdout, reason = "what was measured is told with the test")]

mod agents;
mod fixture;
mod floods;
mod models;
mod people;
mod table;
mod watch;
