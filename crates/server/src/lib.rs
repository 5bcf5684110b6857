//! Builds the rooms by a server's files, and serves until it is told to stop.
//!
//! ```text
//!  kept: place, database, files ──▶ serve ──▶ outward: gatekeeper (broker, gateway process), trail, store
//!                                     ├─────▶ provider: sandboxes of this host
//!                                     ├─────▶ household: the engine and its hands
//!                                     └─────▶ doors: gateway on a socket and on the loopback
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`kept`], [`belongings`] | what a server has kept: found, opened, copied into a backup and back |
//! | [`serve`] | opens everything in its order, and closes it in the other |
//! | `household` | the engine's hands: who works, in what, with which secrets; and what drives tasks |
//! | `outward`, `gatekeeper`, `networks` | the way out of sandboxes: broker, gateway process, what is granted |
//! | `trail`, `egress_log`, [`explain`] | what was written down about it, and why something may leave or not |
//! | `vault`, `authorities`, `discretion` | secrets: opened, bound, kept out of everything that is said |
//! | `reload` | the files, read again while it runs |
//! | `provider`, `desk` | sandboxes and agents, as doors ask for them |
//!
//! What the files mean for a task are rules of [`provision`]; here is what carries them out. A new door is a room of its own: [`serve`]
//! opens it beside the others.
//!
//! **Invariant:** what is opened later may use what was opened earlier, and is closed first; the store is closed last.

mod authorities;
pub mod belongings;
mod desk;
mod discretion;
mod egress_log;
pub mod explain;
mod gatekeeper;
mod household;
pub mod kept;
mod networks;
mod outward;
mod provider;
mod quiet;
mod reload;
pub mod serve;
pub mod toolchains;
mod trail;
mod vault;
