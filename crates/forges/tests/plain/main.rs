//! Plain git as a forge, with real git, real repositories, and some that mean harm.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

mod crashes;
mod delivering;
mod fixture;
mod forging;
mod hostile;
mod leftovers;
mod merging;
mod packs;
mod reading;
mod remotes;
mod reverting;
mod sandboxes;
mod signing;
mod taking;
