//! What a piece of work used, and whether it may go on (CO1).

use std::ops::Add;

use crate::money::Money;

/// What was used, as metered outside the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    pub money: Money,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cpu_millis: u64,
    /// Memory times time.
    pub memory_mib_seconds: u64,
    pub network_bytes: u64,
}

impl Cost {
    pub const ZERO: Self = Self {
        money: Money::ZERO,
        input_tokens: 0,
        output_tokens: 0,
        cpu_millis: 0,
        memory_mib_seconds: 0,
        network_bytes: 0,
    };

    /// What a meter has counted beyond `before`.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            money: self.money.minus(before.money),
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cpu_millis: self.cpu_millis.saturating_sub(before.cpu_millis),
            memory_mib_seconds: self.memory_mib_seconds.saturating_sub(before.memory_mib_seconds),
            network_bytes: self.network_bytes.saturating_sub(before.network_bytes),
        }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            money: self.money + other.money,
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cpu_millis: self.cpu_millis.saturating_add(other.cpu_millis),
            memory_mib_seconds: self.memory_mib_seconds.saturating_add(other.memory_mib_seconds),
            network_bytes: self.network_bytes.saturating_add(other.network_bytes),
        }
    }
}

/// One purse that pays for a task: the task's own, its agent's, a person's, a team's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub whose: String,
    pub limit: Money,
    pub spent: Money,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{whose} has {left} left of {limit}, and the next request may cost {price}")]
pub struct OverBudget {
    pub whose: String,
    pub limit: Money,
    pub left: Money,
    pub price: Money,
}

/// May `price` be spent? Every purse must be able to pay; the first that cannot is named.
pub fn reserve(budgets: &[Budget], price: Money) -> Result<(), OverBudget> {
    let short = budgets.iter().find(|budget| budget.limit.minus(budget.spent) < price);
    short.map_or(Ok(()), |budget| {
        Err(OverBudget {
            whose: budget.whose.clone(),
            limit: budget.limit,
            left: budget.limit.minus(budget.spent),
            price,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purse_must_be_able_to_pay() {
        let purse = |whose: &str, limit, spent| Budget {
            whose: whose.to_owned(),
            limit: Money::from_dollars(limit),
            spent: Money::from_dollars(spent),
        };
        let purses = [purse("the task", 10, 2), purse("Ann's month", 100, 99)];
        assert_eq!(reserve(&purses, Money::from_dollars(1)), Ok(()));
        assert_eq!(
            reserve(&purses, Money::from_dollars(2)).unwrap_err().to_string(),
            "Ann's month has $1.00 left of $100.00, and the next request may cost $2.00"
        );
        assert_eq!(reserve(&[], Money::from_dollars(2)), Ok(()));
    }
}
