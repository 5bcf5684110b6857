//! Real programs, unmodified, in a sandbox of the real `lamp up`: what is allowed works as anywhere, and what is not says why.
//!
//! Everything that they talk to is a host of the toy internet, but for package registries, which are the real ones of this machine. A
//! program that this machine does not have is told as `unsupported`, never as passed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "what was tried is printed, and a test that cannot begin fails"
)]

mod canary;
mod gh;
mod git;
mod git_server;
mod github;
mod registries;
mod scan;
mod setups;
mod stage;
mod web;
