//! What proves a change, as a whole: three stories told as pull request, receipt and checklist, and what happens when somebody changes them.

#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should say so"
)]

mod documents;
mod keys;
mod pull_request;
mod receipts;
mod stories;
mod tampering;
