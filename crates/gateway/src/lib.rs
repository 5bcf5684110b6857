//! The HTTP front door: API and live streams. Incoming webhooks and the web app are planned.
//!
//! ```text
//!  unix socket ── peer is us or root ──┐               ┌──▶ router ──▶ convert ──▶ contracts::sandbox
//!                                      ├──▶ rate ──────┤
//!  127.0.0.1 ── Host, Origin, token ───┘               └──▶ tasks_router ──▶ TaskDesk (engine), PullDesk, store
//!                                                                └──▶ watch: live streams, pulled from the store
//! ```
//!
//! Here are the routes of tasks, pull requests, sandboxes, images and agents. The shapes are those of [`wire`]; nothing of a room's own
//! types is ever serialised, and every refusal is `application/problem+json`. Whoever comes in is the one person who owns this server:
//! there are no accounts yet.

mod access;
mod agent_shapes;
mod convert;
mod desk;
mod door;
mod driven;
mod extract;
mod networks;
mod objects;
mod openapi;
mod openapi_refined;
mod openapi_words;
mod problem;
mod pull_desk;
mod rates;
mod router;
mod routes;
mod serve;
mod sources;
mod spoken;
mod task_desk;
mod task_door;
mod task_ids;
mod task_problem;
mod task_shapes;
mod values;
mod watch;

pub use access::Token;
pub use desk::{AgentDesk, NoAgents, Unworked};
pub use door::{Closing, Door};
pub use networks::{NetworkResolver, NoNetworks};
pub use openapi::document;
pub use pull_desk::PullDesk;
pub use rates::Rate;
pub use router::router;
pub use routes::{
    secrets::{SecretShelf, secrets_router},
    tasks::tasks_router,
};
pub use serve::{Patience, serve_loopback, serve_unix};
pub use sources::{NoSources, SourceResolver};
pub use task_desk::{NoTasks, TaskChange, TaskDesk};
pub use task_door::TaskDoor;
pub use values::{Cleaned, NoValues, Values, without_values};
