//! Money over time: how much a person, an agent or a team may spend in a period.

use std::collections::BTreeMap;

use crate::money::Money;

/// Whose spending is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetScope {
    Task,
    Agent,
    Person,
    Team,
    Repository,
    Organisation,
}

impl BudgetScope {
    pub const ALL: [Self; 6] =
        [Self::Task, Self::Agent, Self::Person, Self::Team, Self::Repository, Self::Organisation];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Team => "team",
            Self::Repository => "repository",
            Self::Organisation => "organisation",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetPeriod {
    Day,
    Week,
    Month,
}

impl BudgetPeriod {
    pub const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// Money per scope and period. What is not listed is not limited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budgets(BTreeMap<(BudgetScope, BudgetPeriod), Money>);

impl Budgets {
    pub fn get(&self, scope: BudgetScope, period: BudgetPeriod) -> Option<Money> {
        self.0.get(&(scope, period)).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (BudgetScope, BudgetPeriod, Money)> {
        self.0.iter().map(|((scope, period), amount)| (*scope, *period, *amount))
    }

    /// Every budget of both; the smaller where both speak.
    #[must_use]
    pub fn narrow(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }
}

impl FromIterator<(BudgetScope, BudgetPeriod, Money)> for Budgets {
    fn from_iter<I: IntoIterator<Item = (BudgetScope, BudgetPeriod, Money)>>(all: I) -> Self {
        let mut budgets = BTreeMap::new();
        for (scope, period, amount) in all {
            budgets
                .entry((scope, period))
                .and_modify(|least: &mut Money| *least = amount.min(*least))
                .or_insert(amount);
        }
        Self(budgets)
    }
}
