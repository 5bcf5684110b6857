//! What holds across rooms: engines in processes of their own, on a real database, to be killed.
//!
//! [`arena`] is the place: a database, an outside, tasks in it. [`player`] is one engine's process.

pub mod arena;
pub mod player;
