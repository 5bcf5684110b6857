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
//! - **doors** are made by `lamp-launcher --doors`, in the network namespace of the sandbox's first process, and handed to the broker, which hands them to
//!   the gateway. `sandbox/src/provider/road.rs` asks for them at every opening, and again when the gateway is a new one.
//! - **proxy**, the gateway's program, has no state that outlives a request but connections, leaf certificates and made-up addresses. It is started again when it dies.
//! - **broker** is the only one who decides. It implements `contracts::egress::Road`, keeps each sandbox's network and authority sealed below
//!   `<data>/egress`. What organisation and platform say is not kept with it: it holds anew whenever the server's files are read (`server/src/reload.rs`).
//! - **trail** (`server/src/trail`) has one line for each exchange in `log.jsonl` there, and rows of the store's audit log for refusals, credentials and alarms, through a
//!   queue that nobody waits for. Decision 12.
//! - **secrets** keeps values sealed below `<data>/secrets`. `server` joins the two rooms (`server/src/gatekeeper`).
//!
//! Decisions 11, 23 and 24 say why.
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
