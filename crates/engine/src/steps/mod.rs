//! The steps, one file each: what is done, and what a repeat means.
//!
//! Every step reads the [`Scene`] (the task and its history), calls the hands with its key, and
//! returns what came of it. It appends nothing itself: [`crate::settle`] does, together with taking the
//! step's row away, so that an outcome is written once or not at all.

mod agent;
mod allowance;
mod base_checks;
mod brief;
mod close;
mod deliver;
mod drift;
mod full;
mod implement;
mod linked;
mod open;
mod plan;
mod refused;
mod research;
mod rest;
mod review;
mod setup;
mod side;
mod surroundings;
mod tell;
mod verify;

use contracts::{
    Key,
    sandbox::{SandboxError, WORKSPACE, directory_names},
};
use domain::{
    agent::AgentName,
    code::{BranchName, CodeNameError, CommitId, RepositoryName},
    cost::Cost,
    digest::Digest,
    failure::{Failure, FailureKind},
    id::SandboxId,
    phase::Phase,
    plan::Plan,
    request::Request,
    task::{Event, Lane, Report, Step, Task},
    time::Timestamp,
};
use serde::de::DeserializeOwned;
use store::{History, Lease, Recorded, StoreError};

use crate::{
    Engine, Hands,
    bill::{self, Bill},
    delivered::{change, delivered_branch, delivered_change},
    transcript::Unfinished,
};

/// What a step needs to know.
pub(crate) struct Scene<'e, H> {
    pub(crate) engine: &'e Engine<H>,
    pub(crate) lease: &'e Lease,
    /// What is left of the step when it is stopped in the middle.
    pub(crate) unfinished: &'e Unfinished,
    pub(crate) history: History,
    pub(crate) task: Task,
    pub(crate) request: Request,
}

/// A step that worked.
#[derive(Debug)]
pub(crate) enum Done {
    Reports(Vec<Report>),
    /// Nothing to write down.
    Nothing,
}

/// A step that did not.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The outside is busy: try again later.
    Busy(String),
    Failed(Failure),
    /// A newer lamp wrote what we cannot read: it is for that one to do.
    NotOurs(String),
    /// It was begun too often without ever ending: whoever did it did not survive it.
    Deadly,
}

pub(crate) type Outcome = Result<Done, Trouble>;

/// What came of a step, and what the meters say after it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) bill: Option<Bill>,
}

impl Ended {
    /// The task could not even be read.
    pub(crate) fn unread(error: &StoreError) -> Self {
        let reason = error.to_string();
        let trouble =
            if error.is_passing() { Trouble::Busy(reason) } else { Trouble::NotOurs(reason) };
        Self { outcome: Err(trouble), bill: None }
    }
}

/// How many times its tries a step may be begun. Only crashes let it come that far.
const LIVES: u32 = 3;

/// Does the step, and reads the meters afterwards, however it ended.
pub(crate) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Ended {
    let last = scene.engine.settings.tries.saturating_mul(LIVES);
    if scene.lease.attempt == last.saturating_add(1) {
        return Ended { outcome: Err(Trouble::Deadly), bill: None };
    }
    let outcome = perform(scene).await;
    match scene.lease.step.lane() {
        Lane::Notice | Lane::Timer => Ended { outcome, bill: None },
        Lane::Work => match (scene.bill().await, scene.lease.step) {
            (Ok(used), _) => Ended { outcome, bill: Some(Bill { phase: scene.phase(), used }) },
            // The last reading must not be lost; the others are made up for by the next.
            (Err(reason), Step::Close) => {
                Ended { outcome: outcome.and(Err(Trouble::Busy(reason))), bill: None }
            }
            (Err(reason), _) => {
                tracing::warn!(task = %scene.lease.task, reason, "cannot read the meters");
                Ended { outcome, bill: None }
            }
        },
    }
}

/// Each step is a machine of its own size, and the largest would make every caller's as large: they are kept on the heap.
async fn perform<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    match scene.lease.step {
        Step::Open => {
            let opened = Box::pin(open::run(scene)).await;
            Box::pin(refused::while_opening(scene, opened)).await
        }
        Step::Research => Box::pin(research::run(scene)).await,
        Step::Plan => Box::pin(plan::run(scene)).await,
        Step::Implement => Box::pin(implement::run(scene)).await,
        Step::Verify => Box::pin(verify::run(scene)).await,
        Step::Review => Box::pin(review::run(scene)).await,
        Step::Deliver => Box::pin(deliver::run(scene)).await,
        Step::Rest => Box::pin(rest::run(scene)).await,
        Step::Close => Box::pin(close::run(scene)).await,
        Step::Tell => Box::pin(tell::run(scene)).await,
        Step::TimeUp(up) => Ok(Done::Reports(vec![Report::TimeUp(up)])),
    }
}

impl<'e, H: Hands> Scene<'e, H> {
    pub(crate) async fn read(
        engine: &'e Engine<H>,
        lease: &'e Lease,
        unfinished: &'e Unfinished,
    ) -> Result<Self, StoreError> {
        let history = engine.store.history(lease.task).await?;
        let missing = StoreError::NoTask { task: lease.task };
        let task = history.task().ok_or_else(|| missing.clone())?;
        let request = history.events.first().map(|first| &first.event);
        let Some(Event::Requested { request, .. }) = request else { return Err(missing) };
        let request = request.clone();
        Ok(Self { engine, lease, unfinished, history, task, request })
    }

    pub(crate) fn hands(&self) -> &'e H {
        &self.engine.hands
    }

    pub(crate) fn key(&self, part: &'static str) -> Key {
        self.numbered_key(part, 0)
    }

    pub(crate) fn numbered_key(&self, part: &'static str, number: u32) -> Key {
        Key { task: self.lease.task, seq: self.lease.seq, part, number }
    }

    /// The name of the task's workspace, which a repeat of this step arrives at again.
    pub(crate) fn new_workspace(&self) -> SandboxId {
        SandboxId::from_u128(stable_number(self.key("workspace")))
    }

    /// A clean sandbox besides the workspace, for this attempt alone: another attempt gets another.
    pub(crate) fn side_sandbox(&self, part: &'static str) -> SandboxId {
        SandboxId::from_u128(stable_number(self.numbered_key(part, self.lease.attempt)))
    }

    pub(crate) fn repository(&self) -> Result<&RepositoryName, Trouble> {
        let first = self.request.repositories.first().map(|it| &it.name);
        first.ok_or_else(|| self.failed(FailureKind::Internal, "the request names no repository"))
    }

    /// The one branch of the task: named by its id and what was asked for, so a repeat arrives at it again. One that has a pull request
    /// stays as it is, also if the template is another since.
    pub(crate) fn branch(&self) -> Result<BranchName, Trouble> {
        if let Some(delivered) = delivered_branch(&self.history, self.engine.store.blobs()) {
            return Ok(delivered);
        }
        let branch = self.engine.settings.branches.name(self.lease.task, &self.request.text);
        let wrong = |reason: String| self.failed(FailureKind::Internal, reason);
        let branch = branch.map_err(|error| wrong(error.to_string()))?;
        branch.as_str().parse().map_err(|error: CodeNameError| wrong(error.to_string()))
    }

    /// The newest change of the task: the commit that it began from, its own, and what was found when it was taken. Work that was done
    /// for another plan counts only if it is in the pull request: who approved this plan has seen nothing else of it.
    pub(crate) fn newest_change(&self) -> Option<(&CommitId, &CommitId, Digest)> {
        let since = self.history.events.iter().rev();
        let under_this_plan = |it: &&Recorded| !matches!(it.event, Event::Approved { .. });
        let newest = since.take_while(under_this_plan).find_map(change);
        let newest = newest.or_else(|| delivered_change(&self.history));
        newest.map(|it| (it.base, it.commit, it.difference))
    }

    /// The change that is in the pull request.
    pub(crate) fn delivered_change(&self) -> Option<(&CommitId, &CommitId, Digest)> {
        delivered_change(&self.history).map(|it| (it.base, it.commit, it.difference))
    }

    /// The plan that was approved last.
    pub(crate) fn approved_plan(&self) -> Option<&Plan> {
        let approved = self.task.stage.mandate()?.approval().plan;
        self.history.events.iter().rev().find_map(|recorded| {
            let Event::PlanSubmitted { plan, .. } = &recorded.event else { return None };
            (plan.hash() == approved).then_some(plan)
        })
    }

    /// When the event was written that asked for this step: the same for every repeat.
    pub(crate) fn asked_at(&self) -> Timestamp {
        let asked = self.history.events.iter().find(|recorded| recorded.seq == self.lease.seq);
        asked.map_or_else(|| self.engine.now(), |recorded| recorded.at)
    }

    /// A document that an event names.
    pub(crate) fn record<T: DeserializeOwned>(&self, digest: Digest) -> Option<T> {
        let bytes = self.engine.store.blobs().get(digest).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// The newest document of a kind. Without it there is no evidence.
    pub(crate) fn newest_record<T: DeserializeOwned>(
        &self,
        named: impl Fn(&Event) -> Option<Digest>,
    ) -> Result<T, Trouble> {
        let newest = self.history.events.iter().rev().find_map(|recorded| named(&recorded.event));
        let read = newest.and_then(|digest| self.record(digest));
        read.ok_or_else(|| self.failed(FailureKind::Internal, "a record of the task is missing"))
    }

    /// Where the first repository is, inside every sandbox of the task.
    pub(crate) fn checkout(&self) -> Result<String, Trouble> {
        let all: Vec<_> = self.request.repositories.iter().map(|it| &it.name).collect();
        let first = directory_names(&all).into_iter().next();
        let none = || self.failed(FailureKind::Internal, "the request names no repository");
        Ok(format!("{WORKSPACE}/{}", first.ok_or_else(none)?))
    }

    pub(crate) fn agent(&self) -> &AgentName {
        &self.request.agent
    }

    /// The sandbox that the agent works in.
    pub(crate) fn workspace(&self) -> Result<SandboxId, Trouble> {
        let workspace = self.task.workspace.as_ref().map(|workspace| workspace.sandbox);
        workspace.ok_or_else(|| self.failed(FailureKind::SandboxLost, "the task has no sandbox"))
    }

    /// The phase that the step belongs to, or that it follows.
    pub(crate) fn phase(&self) -> Phase {
        bill::phase(&self.task.stage)
    }

    /// Everything that the task has used so far, as the meters outside say.
    pub(crate) async fn bill(&self) -> Result<Cost, String> {
        bill::read(self.hands(), self.lease.task).await
    }

    pub(crate) fn failed(&self, kind: FailureKind, message: impl Into<String>) -> Trouble {
        Trouble::Failed(Failure::new(kind, self.phase(), message))
    }

    /// Keeps evidence, before the event that speaks of it.
    pub(crate) fn keep(&self, evidence: &str) -> Result<Digest, Trouble> {
        self.keep_bytes(evidence.as_bytes())
    }

    pub(crate) fn keep_bytes(&self, evidence: &[u8]) -> Result<Digest, Trouble> {
        let kept = self.engine.store.blobs().put(evidence);
        kept.map_err(|error| Trouble::Busy(format!("cannot keep evidence: {error}")))
    }

    /// What trouble with a sandbox means for the task.
    pub(crate) fn sandbox_trouble(&self, error: &SandboxError) -> Trouble {
        let reason = error.to_string();
        match error {
            // A step opens what it needs, so one that rests was put to rest meanwhile: the next try opens it.
            SandboxError::Busy { .. }
            | SandboxError::NoRoom { .. }
            | SandboxError::Resting { .. } => Trouble::Busy(reason),
            SandboxError::Setup { log, .. } => {
                let task = self.lease.task;
                let message = format!("{reason}; `lamp log {task}` shows what it printed");
                let failure = Failure::new(FailureKind::SetupFailed, self.phase(), message);
                Trouble::Failed(failure.with_log(log))
            }
            SandboxError::Image { .. }
            | SandboxError::Hook { .. }
            | SandboxError::ProgramMissing { .. }
            | SandboxError::Directory { .. } => self.failed(FailureKind::SetupFailed, reason),
            SandboxError::Source { .. } => self.failed(FailureKind::ForgeError, reason),
            SandboxError::NotFound { .. }
            | SandboxError::Destroyed { .. }
            | SandboxError::TierMissing { .. }
            | SandboxError::Limit { .. }
            | SandboxError::Unsupported { .. }
            | SandboxError::Lost { .. } => self.failed(FailureKind::SandboxLost, reason),
            // The engine names no sandbox.
            SandboxError::NameTaken { .. } => self.failed(FailureKind::Internal, reason),
        }
    }
}

/// The same number for the same key, and another for every other key.
pub(crate) fn stable_number(key: Key) -> u128 {
    let digest = Digest::of(key.to_string().as_bytes());
    digest.as_bytes().iter().take(16).fold(0, |bits, byte| (bits << 8) | u128::from(*byte))
}
