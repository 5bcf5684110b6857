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
//! | [`broker`] | decides, pays, hands out credentials and writes down |
//! | [`bundles`] | which requests belong to which capability |
//! | [`gateway`] | the process that reads hostile bytes, and carries what is allowed |
//! | [`git`] | what a push does, before it is done |
//! | [`github`] | the operations of GitHub that a task needs |
//! | [`model`] | what models use and cost |
//! | [`trust`] | the authority that a sandbox believes, certificates in the names of hosts, and what programs inside need |
//! | [`wire`] | strict readers of hostile bytes |

pub mod address;
pub mod ask;
pub mod broker;
pub mod bundles;
pub mod gateway;
pub mod git;
pub mod github;
pub mod model;
pub mod trust;
pub mod wire;
