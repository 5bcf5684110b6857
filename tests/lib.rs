//! What holds across rooms: engines in processes of their own, on a real database, to be killed.
//!
//! [`arena`] is the place: a database, an outside, tasks in it. [`player`] is one engine's process. [`internet`] is a toy internet
//! around the real program, for what sandboxes send out.

pub mod arena;
pub mod internet;
pub mod player;
