//! A whole small world for tests.
