//! What holds for every sandbox of a server, from one change of its files to the next.
//!
//! A sandbox's network was given once, with what organisation and platform said then. They may say something else now, and it holds
//! at once: for those that run, and for those that wake later, also after a restart. So what is remembered is the network as it was given, and
//! rules are always made of both.

use std::{collections::BTreeMap, sync::Arc};

use contracts::egress::{Internal, Network};
use domain::{
    money::Money,
    policy::{BudgetScope, Budgets, Egress},
};

use super::{ruling::Ruling, traffic::Allowances};
use crate::{
    bundles::{Known, registries::RegistryHosts},
    model::budget::Account,
};

#[derive(Debug, Clone)]
pub struct Standing {
    pub known: Arc<Known>,
    /// The registries of this host, for sandboxes whose image says nothing else.
    pub registries: Arc<RegistryHosts>,
    /// `None`: what each network says itself is all.
    pub above: Option<Above>,
    pub money: SpendingLimits,
    pub allowances: Allowances,
}

/// What organisation and platform say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above {
    /// Of both layers, and of no other.
    pub egress: Egress,
    pub internal: BTreeMap<String, Internal>,
}

/// How much may be spent on models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendingLimits {
    /// For one task, as long as it lives, where it says nothing else. A person's sandbox counts as one.
    pub task: Option<Money>,
    /// For one task, whatever it says.
    pub ceiling: Option<Money>,
    pub periods: Budgets,
}

impl Standing {
    pub(super) fn ruling(&self, given: &Network, generation: u64) -> Ruling {
        let network = match &self.above {
            None => given.clone(),
            Some(above) => Network {
                egress: given.egress.under(&above.egress),
                internal: above.internal.clone(),
                ..given.clone()
            },
        };
        Ruling::new(network, &self.known, &self.registries, generation)
    }
}

impl SpendingLimits {
    /// The accounts of one run that may spend `own`, if it says so. A scope that the run does not name has none.
    pub(super) fn accounts(&self, whose: &Payers, own: Option<Money>) -> Vec<Account> {
        let task = own.or(self.task).into_iter().chain(self.ceiling).min().map(|limit| Account {
            scope: BudgetScope::Task,
            whose: whose.task.clone(),
            period: None,
            limit,
        });
        let periods = self.periods.iter().filter_map(|(scope, period, limit)| {
            let whose = whose.of(scope)?.to_owned();
            Some(Account { scope, whose, period: Some(period), limit })
        });
        task.into_iter().chain(periods).collect()
    }
}

/// By whom the spending of one run is added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payers {
    pub(super) task: String,
    pub(super) agent: Option<String>,
    pub(super) person: Option<String>,
    pub(super) repository: Option<String>,
}

impl Payers {
    fn of(&self, scope: BudgetScope) -> Option<&str> {
        match scope {
            BudgetScope::Task => Some(&self.task),
            BudgetScope::Agent => self.agent.as_deref(),
            BudgetScope::Person => self.person.as_deref(),
            BudgetScope::Organisation => Some("all"),
            BudgetScope::Repository => self.repository.as_deref(),
            // No run says yet of which team it is.
            BudgetScope::Team => None,
        }
    }
}
