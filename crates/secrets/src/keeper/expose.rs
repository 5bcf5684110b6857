//! The exception: a real value in the environment of one process.
//!
//! Some tools sign with a secret, and a placeholder is of no use to them. For a secret that says `expose: env` the value is
//! given to one process, after that was written down. It is never put into a file or an argument.

use std::future::Future;

use contracts::{
    sandbox::Owner,
    secret::{ExposeError, SecretError, SecretName, SecretSource as _, SecretValue},
};
use domain::{agent::AgentName, id::SandboxId};

use super::Keeper;
use crate::binding::Exposure;

/// Who asks for values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub owner: Owner,
    pub sandbox: SandboxId,
    /// None for a run that says of no agent that it is theirs.
    pub agent: Option<AgentName>,
}

/// A value that is about to enter a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposed {
    pub name: SecretName,
    pub version: u64,
    pub by: Use,
    /// The program that gets it, as it was asked for.
    pub program: String,
}

/// Writes down that a value enters a sandbox, before it does.
pub trait Witness: Send + Sync {
    fn note(&self, exposed: &Exposed) -> impl Future<Output = Result<(), String>> + Send;
}

impl Keeper {
    /// The variables that one process of a sandbox gets, for secrets that may enter it. All, or none.
    pub async fn expose(
        &self,
        names: &[SecretName],
        by: &Use,
        program: &str,
        witness: &impl Witness,
    ) -> Result<Vec<(SecretName, SecretValue)>, ExposeError> {
        let mut about_to = Vec::new();
        for name in names {
            let described =
                self.describe(name).ok_or_else(|| SecretError::Unknown(name.clone()))?;
            match described.binding.exposure {
                Exposure::Never => return Err(ExposeError::NotExposed(name.clone())),
                Exposure::Environment => {}
            }
            if !described.binding.allows_agent(by.agent.as_ref()) {
                return Err(SecretError::ForAgents(name.clone()).into());
            }
            let (version, program) = (described.version, program.to_owned());
            about_to.push(Exposed { name: name.clone(), version, by: by.clone(), program });
        }
        let mut variables = Vec::new();
        for exposed in about_to {
            let name = exposed.name.clone();
            let value = match &by.owner {
                Owner::Task(task) => self.value(&name, *task, by.sandbox).await?,
                // A person's sandbox is the person's own, and so are the secrets of this server.
                Owner::Person(_) => self.for_the_server(&name)?,
            };
            let noted = witness.note(&exposed).await;
            noted.map_err(|reason| ExposeError::NotWritten { name: name.clone(), reason })?;
            variables.push((name, value));
        }
        Ok(variables)
    }
}
