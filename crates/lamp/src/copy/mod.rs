//! Files between this computer and a sandbox.
//!
//! What comes out of a sandbox was made by programs that nobody trusts: [`unpack`] believes nothing in it.

pub(crate) mod pack;
pub(crate) mod place;
mod stream;
pub(crate) mod unpack;

pub(crate) use stream::{reader, writer};
