//! What cargo, rustc, clippy, libtest and nextest print.

pub(crate) mod diagnostics;
pub(crate) mod events;
pub(crate) mod libtest;
pub(crate) mod messages;
pub(crate) mod nextest;
pub(crate) mod panic;
