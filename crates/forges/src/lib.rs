//! Where code lives: branches, pull requests, checks, comments. Plain git is here, GitHub is planned.

mod git;
mod house;
pub mod inspection;
mod plain;
mod pulls;
mod reading;
pub mod shown;
mod taking;

pub use git::{Git, Remote, Transport};
pub use house::{Custom, House, HouseError, Identity, Mirror};
pub use plain::PlainGit;
pub use pulls::{LARGEST_NOTE, record};
pub use reading::listing;
pub use taking::{TakeError, heading};
