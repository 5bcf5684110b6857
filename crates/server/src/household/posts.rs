//! Who works for a run of an agent: [`provision::roster`], by the files as they are now.

use std::sync::Arc;

use agents::{Post, Roster};
use contracts::agent::{AgentError, Run};
use provision::roster;

use super::{owners, wardrobe::Wardrobe};
use crate::reload::Reloader;

/// Finds programs for runs, by the files as they are now.
#[derive(Debug)]
pub(crate) struct Posts {
    pub(super) reloader: Arc<Reloader>,
    /// Knows which model a task was asked for with.
    pub(super) wardrobe: Arc<Wardrobe>,
}

impl Roster for Posts {
    fn post(&self, run: &Run) -> Result<Post, AgentError> {
        let kept = self.wardrobe.read(run.task);
        let kept = kept.map_err(|error| AgentError::Busy { reason: error.to_string() })?;
        let stopped = |reason| AgentError::Stopped { reason, last_lines: String::new() };
        let definition = kept.definition().map_err(stopped)?;
        let texts = self.reloader.texts();
        let said = owners::as_begun(&self.reloader.said(), definition.as_ref(), texts);
        let said = said.map_err(stopped)?;
        let placed = roster::place(&said, &run.agent, run.mode, kept.model.as_deref());
        placed.map(|placed| placed.post).map_err(stopped)
    }
}
