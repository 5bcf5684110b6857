//! Amounts of money: a number for programs, and words for people.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An amount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Money {
    /// Millionths of a dollar.
    #[schema(example = 1_500_000)]
    pub micros: u64,
    /// `$1.50`; four digits after the point where cents would hide the amount.
    #[schema(example = "$1.50")]
    pub text: String,
}

impl Money {
    pub fn from_micros(micros: u64) -> Self {
        let (dollars, rest) = (micros / 1_000_000, micros % 1_000_000);
        let text = if rest.is_multiple_of(10_000) {
            format!("${dollars}.{:02}", rest / 10_000)
        } else {
            format!("${dollars}.{:04}", rest / 100)
        };
        Self { micros, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        let text = |micros| Money::from_micros(micros).text;
        assert_eq!(text(10_000_000), "$10.00");
        assert_eq!(text(1_500_000), "$1.50");
        assert_eq!(text(4_200), "$0.0042");
    }
}
