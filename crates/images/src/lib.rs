//! What a sandbox starts from: bases, layers, snapshots, and the disks on top of them.
//!
//! ```text
//!  base ──import──▶ layer ◀──seal── setup disk (a setup ran on it)
//!                     │
//!                   image = a manifest that names layers, the uppermost first
//!                     │
//!                   disk = what one sandbox writes, on top of an image
//! ```
//!
//! [`disk`] keeps bytes, [`store`] keeps what they mean, [`base`] and [`detect`] say where they come from.

pub mod base;
pub mod detect;
pub mod disk;
pub mod handed;
pub mod key;
pub mod store;
