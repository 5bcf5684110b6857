//! How bytes both ways came to their end.

use crate::ask::Refusal;

#[derive(Debug)]
pub(super) enum Ended {
    Done,
    /// The rules do not allow it any more.
    Refused(Box<Refusal>),
    Broken(String),
}
