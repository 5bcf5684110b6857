//! What every scripted task is given to go by: the first repository that was named, and the usual limits but for the budget. The most that a task may
//! spend lies in the ledger (`policy`, `budget`), and so does what it was allowed later.

use contracts::order::{KnownRepository, Order, OrderError, Orders, Wish};
use domain::{
    id::TaskId,
    limits::Limits,
    money::Money,
    request::{Trigger, Triggerer},
};

use crate::ledger::Ledger;

#[derive(Debug, Clone)]
pub struct ScriptedOrders {
    ledger: Ledger,
}

impl ScriptedOrders {
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }
}

fn broken(error: &dyn std::fmt::Display) -> OrderError {
    OrderError::Broken { reason: error.to_string() }
}

impl Orders for ScriptedOrders {
    async fn order(&self, wish: &Wish) -> Result<Order, OrderError> {
        let first = wish.repositories.first().ok_or_else(|| broken(&"it names no repository"))?;
        let trigger = crate::trigger(first.name.as_str(), &wish.text);
        let trigger = Trigger {
            by: Triggerer::Person(wish.by.clone()),
            model: wish.model.clone(),
            ..trigger.map_err(|error| broken(&error))?
        };
        let usual = Limits::default();
        let limits = Limits { budget: wish.budget.unwrap_or(usual.budget), ..usual };
        Ok(Order { trigger, limits })
    }

    async fn repositories(&self) -> Result<Vec<KnownRepository>, OrderError> {
        let name =
            "acme/web".parse().map_err(|error| broken(&error as &domain::code::CodeNameError))?;
        Ok(vec![KnownRepository { name, url: "file:///web".to_owned() }])
    }

    fn largest_budget(&self) -> Money {
        let most = self.ledger.read("policy", "budget").and_then(|most| most.parse().ok());
        Money::from_micros(most.unwrap_or(u64::MAX))
    }

    fn allow(&self, task: TaskId, budget: Money) {
        // As a real one: nobody can be told that it failed.
        drop(self.ledger.set("allowed", &task.to_string(), &budget.as_micros().to_string()));
    }
}
