//! Who works for a run of an agent: [`provision::roster`], by the files as they are now.

use std::sync::Arc;

use agents::{Post, Roster};
use contracts::agent::{AgentError, Run};
use provision::roster;

use super::wardrobe::Wardrobe;
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
        let said = self.reloader.said();
        let placed = roster::place(&said, &run.agent, run.mode, kept.model.as_deref());
        placed
            .map(|placed| placed.post)
            .map_err(|reason| AgentError::Stopped { reason, last_lines: String::new() })
    }
}
