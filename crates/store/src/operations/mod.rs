//! The changes that can be made, one file each. Every one is a transaction: all of it, or nothing.

pub(crate) mod admit;
pub(crate) mod append;
pub(crate) mod audit;
pub(crate) mod claim;
pub(crate) mod lease;
pub(crate) mod transcript;
