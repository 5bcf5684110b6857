//! What the sandboxes of a task are made of, and what became of them.
//!
//! A task names an agent. What that means (an image, a tier, a network for each phase, checks) is written in files of the server, which
//! may change while the task lives: so it is asked for anew whenever a sandbox is opened.

use std::{collections::BTreeSet, future::Future, time::Duration};

use domain::{
    agent::Tier, approval::Conditions, code::BranchName, digest::Digest, id::TaskId, money::Money,
    request::Request, task::Purpose, time::Timestamp,
};

use tokio::sync::mpsc;

use crate::{
    egress::Network,
    sandbox::{Compute, Hooks, SandboxError},
};

pub trait Outfits: Send + Sync + 'static {
    /// What a sandbox gets. An image that is not there yet is built first, which can take minutes; dropping the future ends that.
    fn outfit(
        &self,
        wanted: &Wanted<'_>,
    ) -> impl Future<Output = Result<Outfit, OutfitError>> + Send;

    /// What the task's sandboxes were made of, and what they reached, for its receipt. Told by what was seen from outside, never by a
    /// sandbox.
    fn account(&self, task: TaskId) -> impl Future<Output = Result<Account, OutfitError>> + Send;

    /// The hosts that the task's sandboxes asked for since then and were not allowed, each once. Counted from a moment that is written
    /// down, so that whoever asks again after a crash hears the same.
    fn refused(
        &self,
        task: TaskId,
        since: Timestamp,
    ) -> impl Future<Output = Result<Vec<Refused>, OutfitError>> + Send;
}

/// Which sandbox.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub task: TaskId,
    pub request: &'a Request,
    pub purpose: Purpose,
    /// What the approver allowed. Nothing before the gate.
    pub conditions: Option<&'a Conditions>,
    /// What the task may spend in all: the smaller of its own budget and its approval's.
    pub budget: Money,
    /// The one branch that may be pushed to. Nothing before the gate.
    pub branch: Option<&'a BranchName>,
    /// The number of the event by which a person last took the task up again; 0 if nobody has. Until then a task goes by the definition of
    /// its agent that it was begun with.
    pub taken_up: u64,
    /// When the step was asked for that wants it. It is written down, so a step that is repeated after a crash says the same, and one that a
    /// person has resumed another.
    pub asked_at: Timestamp,
    /// Who wants to know how the image is made. Nobody needs to listen.
    pub news: Option<&'a mpsc::Sender<SetupNews>>,
}

/// What is told while the dependencies of a project are installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupNews {
    /// How the project is set up was found out by its own files.
    Found {
        commands: Vec<String>,
        because: Vec<String>,
    },
    /// What it prints.
    Output(Vec<u8>),
    /// It stands in an image, which others can use.
    Ready {
        image: String,
    },
    Failed {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outfit {
    /// As [`Spec::image`](crate::sandbox::Spec::image) has it.
    pub image: String,
    /// Of all that is known of the image. Of the host's own toolchain too, where it is the base: `image` is the same word then, whatever is
    /// installed.
    pub digest: Digest,
    pub tier: Tier,
    pub compute: Compute,
    pub hooks: Hooks,
    /// None: it reaches nothing.
    pub network: Option<Network>,
    /// What the repository's people declared. Empty: they are looked for.
    pub checks: Vec<DeclaredCheck>,
    /// Why what the project needs is not in the image, where that was to be installed without anybody's word: its checks prove little then.
    pub unready: Option<String>,
}

/// A check that somebody wrote down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredCheck {
    pub name: String,
    pub command: String,
    /// A file that the check writes, in the repository.
    pub report: Option<String>,
    pub limit: Duration,
    /// Where it is written down.
    pub file: String,
}

/// What a receipt says of the task's sandboxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Of the image that the implementing sandbox started from.
    pub image: Digest,
    /// Of the policy that held for it.
    pub policy: Digest,
    /// What that policy allowed, in words.
    pub allowed: BTreeSet<String>,
    pub reached: Vec<Reached>,
    /// Of the log of all exchanges.
    pub log: Option<Digest>,
    pub models: Models,
}

/// The models that answered, as the gateway saw. What programs say of themselves is not believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Models {
    pub of_work: BTreeSet<String>,
    pub of_review: BTreeSet<String>,
}

/// One host that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub host: String,
    pub requests: u64,
    pub refused: u64,
    pub bytes: u64,
}

/// A host that no rule allows, or that one forbids. One that only does not answer is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub host: String,
    /// Whose rule is missing, in words.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutfitError {
    /// The files of the server say nothing of this agent, or what they say cannot be had.
    #[error("{reason}")]
    Refused { reason: String },
    /// What has to be installed comes from where the policy does not let it. A person can allow it, or go on without.
    #[error("{reason}")]
    Blocked { reason: String },
    #[error("{reason}")]
    Busy { reason: String },
    /// An image could not be made.
    #[error(transparent)]
    Image(#[from] SandboxError),
}
