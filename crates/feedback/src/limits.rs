//! The most bytes that a text of each kind may have.

/// Names of tests, suites, rules and tools.
pub const LABEL_BYTES: usize = 512;
/// What went wrong, and the two sides of a comparison.
pub const MESSAGE_BYTES: usize = 4 * 1024;
/// Everything else that was said about it.
pub const DETAILS_BYTES: usize = 8 * 1024;
