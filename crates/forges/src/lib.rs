//! Where code lives: GitHub and plain git; branches, pull requests, checks, comments.

mod git;
mod house;
pub mod inspection;
mod plain;
mod pulls;
pub mod shown;
mod taking;

pub use git::{Git, Remote, Transport};
pub use house::{House, HouseError, Identity, Message, Mirror, Order};
pub use plain::PlainGit;
pub use pulls::{LARGEST_NOTE, record};
pub use taking::{TakeError, Taken, heading};
