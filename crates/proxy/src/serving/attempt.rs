//! One attempt to have a request answered: what is sent, and how it fails.

use super::{dress::Reading, passage::Stopped};
use crate::{
    ask::{Grant, Refusal},
    readers::head::RequestHead,
};

/// What is sent for a request.
pub(super) struct Outgoing<'a> {
    pub(super) dressed: &'a RequestHead,
    pub(super) grant: &'a Grant,
    pub(super) reading: Reading,
}

/// How an attempt failed.
pub(super) enum Fault {
    /// The host closed before it said anything.
    NoAnswer,
    /// Nothing was said to the program yet, so it can be told.
    Refused(Box<Refusal>),
    /// Git can be told.
    Stopped(Box<Stopped>),
    /// The answer had begun; all that is left is to break it off.
    Broken(String),
}

pub(super) fn refused(refusal: Refusal) -> Fault {
    Fault::Refused(Box::new(refusal))
}
