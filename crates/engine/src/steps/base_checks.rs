//! How the checks stand where work begins, as far as somebody has run them (CX1): what an agent breaks is told from what was broken.
//!
//! Nothing is run for it. Tasks of the repository keep what their checks did on base and on head; the newest record that speaks of the
//! commit is told, and where none does, the newest of all, by its commit. Only tasks of the same agent count: another has checks of its own, in an
//! image of its own, and what is not there for that one may well be there for this.

use domain::{agent::AgentName, code::CommitId, task::Event};
use store::History;

use super::Scene;
use crate::{
    Hands,
    record::{CheckRecord, ChecksRecord, SideRecord},
};

/// Checks that are told.
const TOLD: usize = 20;

/// The best that was found so far.
#[derive(Debug, Default)]
pub(super) struct BaseChecks {
    of_base: Option<String>,
    newest: Option<String>,
}

impl BaseChecks {
    /// Looks at what another task, or this one, has seen. The newest are shown first.
    pub(super) fn learn<H: Hands>(&mut self, scene: &Scene<'_, H>, history: &History) {
        if self.of_base.is_some() || worker(history) != Some(scene.agent()) {
            return;
        }
        let newest = history.events.iter().rev().find_map(|recorded| {
            let (Event::ChecksPassed { evidence } | Event::ChecksFailed { evidence, .. }) =
                &recorded.event
            else {
                return None;
            };
            scene.record::<ChecksRecord>(*evidence)
        });
        let (Some(record), Some(began)) = (newest, began(scene)) else { return };
        let began = began.as_str();
        if record.commit == began {
            self.of_base = told(&record.checks, |check| check.head.as_ref(), "here");
        } else if record.base == began {
            self.of_base = told(&record.checks, |check| check.base.as_ref(), "here");
        } else if self.newest.is_none() {
            let short: String = record.base.chars().take(12).collect();
            let at = format!("on {short}, the newest commit that is known");
            self.newest = told(&record.checks, |check| check.base.as_ref(), &at);
        }
    }

    /// Whether nothing better can be found: those of the very commit are known.
    pub(super) const fn is_known(&self) -> bool {
        self.of_base.is_some()
    }

    pub(super) fn into_text(self) -> Option<String> {
        self.of_base.or(self.newest)
    }
}

/// The agent that a task was given to.
fn worker(history: &History) -> Option<&AgentName> {
    history.events.iter().find_map(|recorded| {
        let Event::Requested { request, .. } = &recorded.event else { return None };
        Some(&request.agent)
    })
}

/// The commit that the work begins from: of the change, or of the sandbox.
fn began<'s, H: Hands>(scene: &'s Scene<'_, H>) -> Option<&'s CommitId> {
    let changed = scene.newest_change().map(|(base, ..)| base);
    changed.or_else(|| scene.task.workspace.as_ref().map(|workspace| &workspace.commit))
}

fn told(
    checks: &[CheckRecord],
    side: impl Fn(&CheckRecord) -> Option<&SideRecord>,
    at: &str,
) -> Option<String> {
    let lines: Vec<String> = checks
        .iter()
        .filter_map(|check| {
            let SideRecord { ended, not_run, passed, failed, skipped, .. } = side(check)?;
            if *not_run {
                return Some(format!("{} (`{}`) {at}: {ended}", check.name, check.command));
            }
            let tests = format!("{passed} passed, {failed} failed, {skipped} skipped");
            Some(format!("{} (`{}`) {at}: {ended}; tests: {tests}", check.name, check.command))
        })
        .take(TOLD)
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
