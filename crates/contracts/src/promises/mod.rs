//! What every implementation of a contract must keep, as suites that each of them runs.
//!
//! A suite is a function that plays with an implementation and returns the first promise that it broke.

pub mod agent;
pub mod channel;
pub mod clock;
pub mod forge;
pub mod ids;
pub mod sandbox;
pub mod secret;

use domain::id::TaskId;

use crate::Key;

/// A promise that was not kept, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not kept: {promise} ({what})")]
pub struct Broken {
    pub promise: &'static str,
    pub what: String,
}

type Kept = Result<(), Broken>;

/// Says that `promise` was broken, unless `held`.
fn keep(promise: &'static str, held: bool) -> Kept {
    if held { Ok(()) } else { Err(Broken { promise, what: "it did not hold".to_owned() }) }
}

/// The value, or the promise that its error breaks.
fn succeed<T, E: std::fmt::Display>(
    promise: &'static str,
    result: Result<T, E>,
) -> Result<T, Broken> {
    result.map_err(|error| Broken { promise, what: error.to_string() })
}

const TASK: TaskId = TaskId::from_u128(0x7e57);

const fn key(seq: u64) -> Key {
    Key { task: TASK, seq, part: "promise", number: 0 }
}
