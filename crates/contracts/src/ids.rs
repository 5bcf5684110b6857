//! New names, as an argument.

/// Makes ids that nobody has had before, in the order of their making.
pub trait IdSource: Send + Sync + 'static {
    /// The bits of a UUIDv7.
    fn next(&self) -> u128;
}

/// UUIDv7s from this computer's clock and randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    #[expect(clippy::disallowed_methods, reason = "this is the edge where ids are made")]
    fn next(&self) -> u128 {
        uuid::Uuid::now_v7().as_u128()
    }
}
