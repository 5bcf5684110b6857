//! Randomness, as an argument.

pub trait Randomness: Send + Sync + 'static {
    /// Fills all of `bytes` with what nobody can guess.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoRandomness;

/// That of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        aws_lc_rs::rand::fill(bytes).map_err(|_| NoRandomness)
    }
}
