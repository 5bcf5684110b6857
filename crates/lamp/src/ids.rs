//! New names, made here at the edge.

use contracts::ids::IdSource;

/// UUIDv7s from this computer's clock and randomness.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemIds;

impl IdSource for SystemIds {
    #[expect(clippy::disallowed_methods, reason = "this is the edge where ids are made")]
    fn next(&self) -> u128 {
        uuid::Uuid::now_v7().as_u128()
    }
}
