//! The built-in agent: a small, careful tool loop that runs inside a sandbox.
//!
//! ```text
//!  client ⇄ acp ──▶ turn ──▶ model   (one request after the other, over the platform's model route)
//!                    │ └───▶ tools   (shell, read, edit, search, plan, ask)
//!                    └─────▶ session (what was said, kept in a file; compacted when it grows)
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`acp`] | the protocol that the platform speaks with it: lines of JSON-RPC on standard input and output |
//! | [`turn`] | the loop: ask the model, run what it calls, until it has nothing more to do |
//! | [`model`] | one language for four providers; limits, retries, and what a failure is |
//! | [`tools`] | what the model may do |
//! | [`conversation`], [`compaction`] | what was said; how it is kept within the model's window |
//! | [`session`], [`memory`] | a conversation with its files; the lines of those files |
//! | [`settings`] | what the environment says |
//! | [`cut`], [`stop`], `object` | text that is too long; work that is no longer wanted; keys that are there only sometimes |
//! | `address`, `outlet`, `updates` | where the model is; where lines go; what is told while a turn runs |
//!
//! **Invariant:** nothing here is a boundary. The sandbox is: it has no credential and no way out but the gateway. What the limits in this
//! room protect is the turn itself: from a model that talks for ever, and from tools that never end.

pub mod acp;
mod address;
pub mod compaction;
pub mod conversation;
pub mod cut;
pub mod memory;
pub mod model;
mod object;
mod outlet;
pub mod session;
pub mod settings;
pub mod stop;
pub mod tools;
pub mod turn;
mod updates;
