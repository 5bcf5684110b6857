//! The door, with scripted sandboxes behind it, called as programs call it.
#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod document;
mod entry;
mod exec;
mod files;
mod sandboxes;
mod secrets;
mod stage;
mod values;
