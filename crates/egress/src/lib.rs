//! Everything that leaves a sandbox passes here: is it allowed, what does it cost, does it need a credential?
//!
//! Two processes, so that the one that reads hostile bytes knows nothing worth stealing:
//!
//! ```text
//!  sandbox          gateway (unprivileged, no policy, no secrets)       broker (in the server)
//!  ┌──────┐  door  ┌─────────────────────────────────────────────┐ ask ┌──────────────────────────┐
//!  │ curl │───────▶│ reads strictly ─▶ asks ─▶ resolves ─▶ dials │────▶│ policy, budgets, secrets │
//!  └──────┘        └─────────────────────────────────────────────┘◀────└──────────────────────────┘
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`address`] | which addresses may be dialled |
//! | [`ask`] | what the two processes say to each other |
//! | [`trust`] | the authority that a sandbox believes, certificates in the names of hosts, and what programs inside need |
//! | [`git`] | what a push does, before it is done |
//! | [`wire`] | strict readers of hostile bytes |

pub mod address;
pub mod ask;
pub mod trust;
pub mod git;
pub mod wire;
