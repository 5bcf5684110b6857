//! What the routes need of the rooms behind them.

use std::{fmt, sync::Arc};

use contracts::{
    ids::IdSource,
    sandbox::{Listed, Owner, SandboxName, Sandboxes},
};
use domain::id::SandboxId;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use wire::error::{Code, Problem};

use crate::{
    problem::Answer,
    sockets::{AgentDesk, Networks, Sources, Values},
};

pub struct Door<S> {
    pub sandboxes: Arc<S>,
    pub sources: Arc<dyn Sources>,
    pub networks: Arc<dyn Networks>,
    pub values: Arc<dyn Values>,
    pub agents: Arc<dyn AgentDesk>,
    pub ids: Arc<dyn IdSource>,
    /// Who owns what is made through this door.
    pub owner: String,
    /// The version of the program.
    pub version: String,
    pub closing: Closing,
}

/// How conversations that go on for long learn that the server ends, and how it waits for their last words.
#[derive(Debug, Clone, Default)]
pub struct Closing {
    pub stop: CancellationToken,
    pub talks: TaskTracker,
}

impl<S> Clone for Door<S> {
    fn clone(&self) -> Self {
        Self {
            sandboxes: self.sandboxes.clone(),
            sources: self.sources.clone(),
            networks: self.networks.clone(),
            values: self.values.clone(),
            agents: self.agents.clone(),
            ids: self.ids.clone(),
            owner: self.owner.clone(),
            version: self.version.clone(),
            closing: self.closing.clone(),
        }
    }
}

impl<S> fmt::Debug for Door<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// How a caller names a sandbox. An id has a `_`, which no name has.
pub(crate) enum Called {
    Id(SandboxId),
    Name(SandboxName),
}

impl Called {
    pub(crate) fn parse(text: &str) -> Answer<Self> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Id(id));
        }
        let name = text.parse::<SandboxName>();
        let help = "`lamp sandbox list` shows the ids and names that exist";
        name.map(Self::Name).map_err(|error| {
            Problem::new(Code::BadRequest, error.to_string()).with_help(help).into()
        })
    }
}

impl<S: Sandboxes> Door<S> {
    pub(crate) fn owner(&self) -> Owner {
        Owner::Person(self.owner.clone())
    }

    pub(crate) fn new_id(&self) -> SandboxId {
        SandboxId::from_u128(self.ids.next())
    }

    /// The sandbox of this id or name.
    pub(crate) async fn find(&self, called: &str) -> Answer<Listed> {
        let wanted = Called::parse(called)?;
        let listed = self.sandboxes.list().await?;
        let found = listed.into_iter().find(|it| match &wanted {
            Called::Id(id) => it.id == *id,
            Called::Name(name) => it.name.as_ref() == Some(name),
        });
        found.ok_or_else(|| not_found(called))
    }
}

pub(crate) fn not_found(called: &str) -> crate::problem::Trouble {
    Problem::new(Code::NotFound, format!("there is no sandbox `{called}`"))
        .with_help("`lamp sandbox list` shows those that exist")
        .into()
}
