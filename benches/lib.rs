//! How fast it is.
