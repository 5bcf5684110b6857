//! Who worked: programs and versions as the transcript tells, models as the gateway saw; and the hash of all that was said.

use std::collections::BTreeSet;

use contracts::outfit::Models;
use domain::{
    agent::AgentName,
    digest::Digest,
    phase::Phase,
    task::{Event, Task},
    transcript::AgentEvent,
};
use evidence::receipt::AgentRun;

use super::super::{Scene, Trouble};
use crate::Hands;

/// Events of a transcript that are looked at in one go.
const PAGE: i64 = 500;

#[derive(Debug)]
pub(super) struct Said {
    worker: Names,
    reviewer: Names,
    pub(super) digest: Digest,
}

#[derive(Debug, Default)]
struct Names {
    program: String,
    version: String,
}

pub(super) async fn read<H: Hands>(scene: &Scene<'_, H>) -> Result<Said, Trouble> {
    let store = &scene.engine.store;
    let busy = |error: store::StoreError| Trouble::Busy(error.to_string());
    let mut said = Said {
        worker: Names::default(),
        reviewer: Names::default(),
        digest: store.transcript_digest(scene.lease.task).await.map_err(busy)?,
    };
    let mut cursor = 0;
    loop {
        let page = store.transcript_after(scene.lease.task, cursor, PAGE).await.map_err(busy)?;
        let Some(last) = page.last() else { return Ok(said) };
        cursor = last.number;
        for one in page {
            let AgentEvent::Started { program, version, .. } = one.event else { continue };
            let names = match phase_of(scene, one.run) {
                Some(Phase::Review) => &mut said.reviewer,
                Some(
                    Phase::Prepare
                    | Phase::Research
                    | Phase::Plan
                    | Phase::Implement
                    | Phase::Verify
                    | Phase::Deliver,
                )
                | None => &mut said.worker,
            };
            names.program = program;
            names.version = version.unwrap_or_default();
        }
    }
}

/// The phase of the step that an event asked for.
fn phase_of<H: Hands>(scene: &Scene<'_, H>, run: u64) -> Option<Phase> {
    let before = scene.history.events.iter().take_while(|recorded| recorded.seq <= run);
    let events: Vec<&Event> = before.map(|recorded| &recorded.event).collect();
    Task::replay(events)?.stage.phase()
}

impl Said {
    pub(super) fn worker(&self, name: &AgentName, models: &Models) -> AgentRun {
        self.worker.run(name, &models.of_work)
    }

    /// None, where nobody reviewed.
    pub(super) fn reviewer(&self, name: &AgentName, models: &Models) -> Option<AgentRun> {
        let is_known = !self.reviewer.program.is_empty();
        is_known.then(|| self.reviewer.run(name, &models.of_review))
    }
}

impl Names {
    fn run(&self, name: &AgentName, models: &BTreeSet<String>) -> AgentRun {
        let models = models.iter().map(String::as_str);
        AgentRun::new(name.clone(), &self.program, &self.version, models)
    }
}
