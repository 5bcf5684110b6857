//! Everything that leaves a sandbox passes here: is it allowed, what does it cost, does it need a credential?
//!
//! This room is the *broker*, a part of the server. What sandboxes say is read by another process, the room `proxy`, which knows nothing worth
//! stealing; for everything that wants to leave it asks here, and is answered for that one thing:
//!
//! ```text
//!  sandbox          proxy (unprivileged, no policy, no secrets)         broker (in the server)
//!  ┌──────┐  door  ┌─────────────────────────────────────────────┐ ask ┌──────────────────────────┐
//!  │ curl │───────▶│ reads strictly ─▶ asks ─▶ resolves ─▶ dials │────▶│ policy, budgets, secrets │
//!  └──────┘        └─────────────────────────────────────────────┘◀────└──────────────────────────┘
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`broker`] | decides, pays, hands out credentials and writes down |
//! | [`bundles`] | which requests belong to which capability |
//! | [`github`] | the operations of GitHub that a task needs |
//! | [`model`] | what models cost |
//! | [`trust`] | whom a sandbox believes, and what programs inside need for it |
//!
//! **Invariant:** no body and no answer is parsed here. What the proxy says of them has a type, and is within `proxy::ask::bounds`; so are the
//! host, the path and the few headers that rules are about.

pub mod broker;
pub mod bundles;
pub mod github;
pub mod model;
pub mod trust;
