//! What a task is, and which changes to it are allowed.
