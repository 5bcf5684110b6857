//! The gateway process: it reads what sandboxes say, asks the broker, and carries what is allowed.
//!
//! It has no rules, and no secret that outlives the request that it is for. Everything that comes through a door is hostile, and
//! the door says whose it is.
//!
//! | module | what it is for |
//! |---|---|
//! | [`link`] | the connection to the broker, with both of its ends |

pub mod link;
