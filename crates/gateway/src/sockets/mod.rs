//! What the door needs of rooms that it may not use: each a trait that the server plugs in behind a pointer.
//!
//! | socket | what plugs in |
//! |---|---|
//! | [`AgentDesk`] | the crew, and the models of the server's files |
//! | [`Networks`] | the policy, and the broker of what leaves sandboxes |
//! | [`SecretShelf`], [`Values`] | the keeper of secrets |
//! | [`Sources`] | the mirrors of repositories |
//!
//! They speak in types of `domain` and `contracts`, or in plain ones of their own. None knows a shape of the API or a problem: those are made by
//! the routes, and nowhere else. Tasks and pull requests have no socket here, because the door may use the engine: [`engine::Front`].

mod agents;
mod networks;
mod secrets;
mod sources;
mod values;

pub use agents::{
    AgentDesk, Layer, Model, Offer, Offered, Package, Start, WorkError, WrittenAgent,
};
pub use networks::Networks;
pub use secrets::{Kept, SecretShelf, ShelfError};
pub use sources::{Source, Sources};
pub use values::{Cleaned, Exposing, NotCleaned, Values};
