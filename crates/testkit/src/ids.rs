//! Ids for tests.

use contracts::ids::IdSource;

/// Real UUIDv7s.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    #[expect(clippy::disallowed_methods, reason = "this is the edge where ids are made")]
    fn next(&self) -> u128 {
        uuid::Uuid::now_v7().as_u128()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_keep_their_promises() {
        contracts::promises::ids::kept(&super::SystemIds).unwrap();
    }
}
