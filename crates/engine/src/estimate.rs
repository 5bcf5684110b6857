//! What the work behind the gate should take, from what earlier tasks of the same repository and agent took (PL3).
//!
//! The middle of what was seen. Where nothing was seen nothing is said: a figure that somebody made up would be believed.
//!
//! Times are whole seconds, because that is how a plan is shown. Its hash is of all that it says, and whoever has read it must be able to
//! make the same hash of what they have read.

use std::time::Duration;

use domain::{agent::AgentName, code::RepositoryName, money::Money, plan::Estimate, task::Event};
use store::{Filter, History, Page, Store, StoreError};

use crate::stretches;

/// Tasks that are looked at, the newest first.
const LOOKED_AT: u32 = 60;
/// Tasks that count.
const COUNTED: usize = 15;

pub(crate) async fn estimate(
    store: &Store,
    repository: &RepositoryName,
    agent: &AgentName,
) -> Result<Estimate, StoreError> {
    let filter = Filter { repository: Some(repository.clone()), ..Filter::default() };
    let page = Page { before: None, size: LOOKED_AT };
    let (mut times, mut costs) = (Vec::new(), Vec::new());
    for view in store.tasks(&filter, page).await? {
        if view.pull_request.is_none() || view.agent != agent.as_str() || times.len() >= COUNTED {
            continue;
        }
        if let Some((time, cost)) = behind_the_gate(&store.history(view.task).await?) {
            times.push(time);
            costs.push(cost);
        }
    }
    Ok(Estimate { time: middle(times).map(begun_seconds), cost: middle(costs) })
}

/// A second that has begun counts: work that took less than one did not take none.
fn begun_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}

/// What a task worked and spent from its first approval to its first pull request.
fn behind_the_gate(history: &History) -> Option<(Duration, Money)> {
    let (mut worked, mut spent) = (Duration::ZERO, None);
    for stretch in stretches::of(history) {
        let is_approved = stretch.before.as_ref().is_some_and(|it| it.stage.mandate().is_some());
        if is_approved && stretch.is_work() {
            worked += stretch.lasted;
        }
        let money = stretch.after.spent.money;
        if matches!(stretch.recorded.event, Event::Approved { .. }) && spent.is_none() {
            spent = Some(money);
        }
        if matches!(stretch.recorded.event, Event::PullRequestOpened { .. }) {
            return spent.map(|before| (worked, money.minus(before)));
        }
    }
    None
}

fn middle<T: Ord + Copy>(mut seen: Vec<T>) -> Option<T> {
    seen.sort();
    seen.get(seen.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(middle(Vec::<Money>::new()), None);
        assert_eq!(middle(vec![3, 1, 2]), Some(2));
    }

    #[test]
    fn times_are_whole_seconds() {
        for (millis, seconds) in [(0, 0), (1, 1), (1_000, 1), (1_001, 2)] {
            assert_eq!(begun_seconds(Duration::from_millis(millis)), Duration::from_secs(seconds));
        }
    }
}
