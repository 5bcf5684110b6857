//! New names, as an argument.

/// Makes ids that nobody has had before, in the order of their making.
pub trait IdSource: Send + Sync + 'static {
    /// The bits of a UUIDv7.
    fn next(&self) -> u128;
}
