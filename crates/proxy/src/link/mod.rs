//! The connection between the gateway and the broker, with both of its ends.
//!
//! ```text
//!  gateway process                                     server
//!  ┌────────────────────────────┐  one socket   ┌─────────────────────────────┐
//!  │ BrokerLink  ask, report    │──────────────▶│ Questions  next             │
//!  │ Orders      next           │◀──────────────│ GatewayLink  join, leave, … │
//!  └────────────────────────────┘ doors by fd   └─────────────────────────────┘
//! ```
//!
//! Each end is a handle that speaks, cheap to clone, and a list that one owner reads. A frame that is not understood ends the
//! connection at once; the end that reads then gets the error, and everything that waits for an answer is refused.
//!
//! **Invariant:** descriptors go from the server to the gateway only; the server takes none.

mod broker_link;
mod frames;
mod gateway_link;
mod outbox;
#[cfg(test)]
mod tests;

use std::io;

pub use broker_link::{BrokerLink, Order, Orders};
pub use frames::DOORS_LIMIT;
pub use gateway_link::{GatewayLink, Questions};

use crate::ask::{ToBroker, bounds::OutOfBounds};

/// Reads what a proxy says, as the broker does: strictly, and within bounds.
pub fn heard(message: &[u8]) -> Result<ToBroker, LinkError> {
    frames::decode(message)
}

/// Why the connection is over, or did not take a message.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("the connection between gateway and broker is closed")]
    Closed,
    #[error("a message between gateway and broker has {length} bytes, which is too many")]
    TooLong { length: usize },
    #[error("a message between gateway and broker cannot be read: {0}")]
    Malformed(String),
    /// Nothing was sent: the other end would have hung up.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    #[error("{count} doors do not go with one message")]
    Doors { count: usize },
    #[error("the connection between gateway and broker broke")]
    Broken(#[from] io::Error),
}
