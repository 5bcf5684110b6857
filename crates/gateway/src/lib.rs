//! The HTTP front door: API and live streams. Incoming webhooks and the web app are planned.
//!
//! ```text
//!  unix socket ── peer is us or root ──┐               ┌──▶ router ──▶ contracts::sandbox, and the sockets
//!                                      ├──▶ rate ──────┤
//!  127.0.0.1 ── Host, Origin, token ───┘               └──▶ tasks_router ──▶ engine::Front, store
//!                                                                └──▶ watch: live streams, pulled from the store
//! ```
//!
//! Here are the routes of tasks, pull requests, sandboxes, images and agents. A route parses what was asked into types of `domain` and `contracts`, asks
//! behind it, and turns the answer into a shape of [`wire`]; nothing of a room's own types is ever serialised. Every refusal is
//! `application/problem+json`, and is made here and nowhere else: rooms return typed errors, `problem`, `task_problem` and the `…_shapes` say
//! what code and what hint each has. `sockets` are what this door needs of rooms that it may not use.
//!
//! Whoever comes in is the one person who owns this server: there are no accounts yet.

mod access;
mod agent_offers;
mod agent_shapes;
mod convert;
mod door;
mod driven;
mod egress_shapes;
mod extract;
mod objects;
mod openapi;
mod openapi_refined;
mod openapi_words;
mod problem;
mod rates;
mod router;
mod routes;
mod secret_shapes;
mod serve;
pub mod sockets;
mod spoken;
mod task_door;
mod task_ids;
mod task_problem;
mod task_shapes;
mod values;
mod watch;

pub use access::Token;
pub use door::{Closing, Door};
pub use egress_shapes::explained;
pub use openapi::document;
pub use rates::Rate;
pub use router::router;
pub use routes::{secrets::secrets_router, tasks::tasks_router};
pub use serve::{Patience, serve_loopback, serve_unix};
pub use task_door::TaskDoor;
pub use values::without_values;
