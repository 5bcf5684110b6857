//! The door, with scripted sandboxes and tasks behind it, called as programs call it.
#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod conformance;
mod document;
mod entry;
mod events;
mod exec;
mod files;
mod fixture;
mod handing_over;
mod pulls;
mod refusals;
mod review;
mod sandboxes;
mod secrets;
mod streams;
mod taking_back;
mod task_fixture;
mod tasks;
mod values;
mod without;
