//! Whom a sandbox believes: its own certificate authority, and the ones that everybody believes.
//!
//! The gateway looks into TLS by answering in a host's name. The certificates that it answers with are signed by an
//! authority that one sandbox believes and nobody else does, and whose key never enters the sandbox.
//!
//! ```text
//!  broker ── makes ──▶ Authority ── certificate ──▶ files and variables inside (Inside)
//!                          └─────── key ──────────▶ gateway: Leafs ── one certificate per host
//! ```

mod bundle;
mod inside;
mod java;

pub use self::{
    bundle::{Roots, RootsError},
    inside::{AUTHORITY, BUNDLE, JAVA, inside},
};

#[cfg(test)]
mod tests;
