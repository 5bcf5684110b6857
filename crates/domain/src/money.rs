//! Money: whole micro-dollars, because sums of tiny prices must not drift.

use std::{fmt, iter::Sum, ops::Add};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Money(u64);

impl Money {
    pub const ZERO: Self = Self(0);

    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    pub const fn from_dollars(dollars: u32) -> Self {
        Self(dollars as u64 * 1_000_000)
    }

    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// What is left of this amount after `spent`; nothing, once it is used up.
    #[must_use]
    pub const fn minus(self, spent: Self) -> Self {
        Self(self.0.saturating_sub(spent.0))
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// `$1.50`; four digits after the point where cents would hide the amount (`$0.0042`).
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if micros % 10_000 == 0 {
            return write!(f, "${dollars}.{:02}", micros / 10_000);
        }
        write!(f, "${dollars}.{:04}", micros / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        assert_eq!(Money::from_dollars(10).to_string(), "$10.00");
        assert_eq!(Money::from_micros(1_500_000).to_string(), "$1.50");
        assert_eq!(Money::from_micros(4_200).to_string(), "$0.0042");
    }
}
