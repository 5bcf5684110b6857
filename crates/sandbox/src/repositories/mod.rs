//! How a repository gets into a sandbox. The mirrors themselves are kept by the room `git`.
//!
//! ```text
//!  git: mirrors/acme+web.git                           host: our git, in a closed environment
//!           └─ objects ──bind, read-only──▶ /.lamp/git/0/objects      sandbox: the agent's git
//!                                           /workspace/web/.git/objects/info/alternates
//! ```
//!
//! Files with hostile names, attributes and links come to be inside the sandbox only, made by the agent's own user ([`Checkouts`] says
//! how, as plain data).

mod checkout;
#[cfg(test)]
mod tests;
mod tree;

pub use checkout::{Checkouts, Head, Place, Step};
pub use tree::{Manifests, manifests};
