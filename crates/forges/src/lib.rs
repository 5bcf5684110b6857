//! Where code lives: branches, pull requests, checks, comments. Plain git is here, GitHub is planned.

mod host;
pub mod inspection;
mod plain;
mod pulls;
mod reading;
mod refs;
mod taking;

pub use git::shown;
pub use host::{Custom, GitHost, Identity};
pub use plain::PlainGit;
pub use pulls::{LARGEST_NOTE, record};
pub use reading::listing;
pub use taking::{TakeError, heading};
