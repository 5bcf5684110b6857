//! The HTTP front door: API, live streams, incoming webhooks, the web app.
//!
//! ```text
//!  unix socket ── peer is us or root ──┐
//!                                      ├──▶ routes ──▶ convert ──▶ contracts::sandbox
//!  127.0.0.1 ── Host, Origin, token ───┘
//! ```
//!
//! Here are the routes of sandboxes, images and agents. The shapes are those of [`wire`]; nothing of a room's own types is
//! ever serialised. Whoever comes in is the one person who owns this server: there are no accounts yet.

mod access;
mod agent_shapes;
mod convert;
mod desk;
mod door;
mod driven;
mod extract;
mod networks;
mod openapi;
mod problem;
mod routes;
mod serve;
mod sources;
mod spoken;
mod values;

pub use access::Token;
pub use desk::{AgentDesk, NoAgents, Unworked};
pub use door::{Closing, Door};
pub use networks::{NetworkResolver, NoNetworks};
pub use openapi::document;
pub use routes::{
    router,
    secrets::{SecretShelf, secrets_router},
};
pub use serve::{Patience, serve_loopback, serve_unix};
pub use sources::{NoSources, SourceResolver};
pub use values::{Cleaned, NoValues, Values, without_values};
