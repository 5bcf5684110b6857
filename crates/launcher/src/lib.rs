//! What the server asks of the launcher.
//!
//! | module | what it holds |
//! |---|---|
//! | [`plan`] | a sandbox to launch, down to every mount, and what came of it |
//! | [`frame`] | how orders and answers travel |
//! | [`descriptors`] | what travels with them |
//! | [`root_inside`] | what root may still do inside |
//!
//! The program that does it, `lamp-launcher`, is `main.rs` and the modules beside it.

pub mod descriptors;
pub mod frame;
pub mod plan;
pub mod root_inside;
