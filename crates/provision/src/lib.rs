//! What a task gets by the server's files: who works, in what, with which way out, within which limits.
//!
//! ```text
//!  lamp.yaml  policy.yaml  agents/*.yaml ── files ──▶ server_files ──▶ agents ──▶ roster: which program, which model
//!                                                          │                          │
//!                                                          └──▶ layers ──▶ network    ├──▶ outfit: image, tier, compute, checks
//!                                                                 organisation ∩ platform ∩ file ∩ approval
//! ```
//!
//! | module | its rule |
//! |---|---|
//! | [`files`], [`server_files`] | what the files say, or what is wrong with them and what to do |
//! | [`agents`], [`models`], [`roster`] | who works for an agent in each mode, with which model, and where it is asked |
//! | [`offers`], [`narrow`] | agents that a repository defines itself, or that a task was begun with: never more than a task gets without them |
//! | [`layers`], [`network`] | what a sandbox may reach: never more than every layer allows, and what goes beyond is refused by its name |
//! | [`found_setup`] | what a setup that nobody wrote may reach |
//! | [`order`] | what a task is begun with: which repositories, and limits that are the nearest word and never more than the policy's ceilings |
//! | [`outfit`] | what a sandbox is made of: never weaker walls, never more of anything than the policy's ceilings |
//! | [`way_out`] | the same files in the terms of `egress`: models, private hosts, registries |
//!
//! Nothing here opens a sandbox, a socket or a database. The files are read, package managers are asked where their registries are, and the
//! rest is data in, data out: so `lamp policy explain` says without a server what a server would do.

pub mod agents;
pub mod files;
pub mod found_setup;
pub mod layers;
pub mod models;
pub mod narrow;
pub mod network;
pub mod offers;
pub mod order;
pub mod outfit;
pub mod roster;
pub mod server_files;
#[cfg(test)]
mod tables_tests;
pub mod way_out;

#[cfg(test)]
mod examples_tests;

/// Who does what comes through the doors: there are no accounts yet.
pub const OWNER: &str = "local";
