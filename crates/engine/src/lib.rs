//! Moves each task to its next step, and picks up where it stopped after a crash.
