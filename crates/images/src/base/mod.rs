//! Where images begin: the host's toolchain, a root file system, or an OCI image.
//!
//! ```text
//!  host ────────────▶ binds, read-only ──┐
//!  dir:, tar: ──────▶ one layer ─────────┼──▶ what a sandbox stands on, below its skeleton
//!  oci: ────────────▶ a layer per blob ──┘
//! ```
//!
//! Archives and registries are hostile: whatever is in them, nothing is written outside of the directory that the
//! caller gave ([`unpack`]). Everything is stored with the ids that [`Owner`] says. A call that fails leaves a
//! directory half full; the caller removes it.

mod accounts;
mod digest;
mod error;
mod ground;
pub mod host;
pub mod oci;
mod owner;
pub mod rootfs;
pub mod skeleton;
mod stream;
pub mod unpack;

pub use accounts::Accounts;
pub use digest::{Digest, DigestError};
pub use error::BaseError;
pub use owner::Owner;

#[cfg(test)]
mod testing;
