//! Reads what sandboxes say, asks, dials and carries; knows no rule and no secret.
//!
//! This room is a process of its own, `lamp-proxy`: embedded in `lamp`, started by the server as nobody, shut in before it reads the first
//! byte. It may use `domain` alone, so what it is linked from has no rule, no secret, no store and no key in it: whoever takes it over finds
//! what the requests that are under way brought along, and the certificate authorities of the sandboxes that it serves. It can ask in the name of any of
//! these, as it asks for all of them: what their rules allow, it gets, one answer at a time, and each is written down.
//!
//! ```text
//!  sandbox          lamp-proxy (unprivileged, no policy, no secrets)            broker (room `egress`, in the server)
//!  ┌──────┐  door  ┌──────────────────────────────────────────────────┐  ask  ┌──────────────────────────┐
//!  │ curl │───────▶│ reads strictly ─▶ asks ─▶ resolves ─▶ dials      │──────▶│ policy, budgets, secrets │
//!  └──────┘        │ heads, bodies, packs, hellos, names              │◀──────│                          │
//!                  └──────────────────────────────────────────────────┘ names └──────────────────────────┘
//!                                                             and numbers, never bytes of a body
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`address`] | which addresses may be dialled |
//! | [`ask`] | what the two processes say to each other, and how much |
//! | [`certificates`] | the authority of one sandbox, and certificates in the names of hosts |
//! | [`git`] | what a push does, before it is done |
//! | [`github`] | what requests to GitHub say in their bodies |
//! | [`link`] | the connection between the two processes, with both of its ends |
//! | [`model`] | what a request asks of a model, and what its answer says that it used |
//! | [`readers`] | strict readers of hostile bytes |
//! | [`serving`] | what the process does |
//! | [`strict_json`] | JSON that everybody reads in the same way |
//!
//! The broker uses [`ask`], [`link`] and the types that they share, and makes authorities with [`certificates`]; it reads no hostile byte
//! with the rest.

pub mod address;
pub mod ask;
pub mod certificates;
pub mod git;
pub mod github;
pub mod link;
pub mod model;
pub mod readers;
pub mod serving;
pub mod strict_json;
