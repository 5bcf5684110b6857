//! What outlives a server: sandboxes, their commands, their bills, and the word that one is gone (SB12). With it the two
//! things that go on while nobody looks: retention (SB8), and the pool (SB9).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot begin fails, and says what this host does not have"
)]

mod commands;
mod house;
mod lifetime;
mod lives;
mod looking;
mod pool;
mod sealing;
#[path = "../world/mod.rs"]
mod world;
