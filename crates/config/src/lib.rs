//! Reads the files that people write, and points at the line that is wrong.
