//! Weakened tests.
