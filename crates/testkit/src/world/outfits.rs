//! What every scripted sandbox gets: the same. What it was refused lies in the ledger, and so do the tools of the host (`host`, `tools`).

use std::{collections::BTreeSet, time::Duration};

use contracts::{
    outfit::{
        Account, DeclaredCheck, Models, Outfit, OutfitError, Outfits, Reached, Refused, Wanted,
    },
    sandbox::{Compute, Hooks},
};
use domain::{agent::Tier, digest::Digest, id::TaskId, time::Timestamp};

use crate::ledger::Ledger;

#[derive(Debug, Clone)]
pub struct ScriptedOutfits {
    ledger: Ledger,
}

impl ScriptedOutfits {
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }
}

/// Somebody in a sandbox of `task` asks for `host`, and the gateway says no.
pub fn refuse(ledger: &Ledger, task: TaskId, host: &str, at: Timestamp) -> std::io::Result<()> {
    ledger.set(&format!("refused-{task}"), host, &at.as_millis().to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> OutfitError {
    OutfitError::Busy { reason: error.to_string() }
}

impl ScriptedOutfits {
    /// One check, or those that a test has written down, a command on each line.
    fn checks(&self) -> Vec<DeclaredCheck> {
        let one = |name: &str, command: &str| DeclaredCheck {
            name: name.to_owned(),
            command: command.to_owned(),
            report: None,
            limit: Duration::from_mins(1),
            file: "agents/scripted.yaml".to_owned(),
        };
        match self.ledger.read("host", "checks") {
            None => vec![one("tests", "make test")],
            Some(written) => written.lines().map(|command| one(command, command)).collect(),
        }
    }
}

impl Outfits for ScriptedOutfits {
    async fn outfit(&self, _wanted: &Wanted<'_>) -> Result<Outfit, OutfitError> {
        Ok(Outfit {
            image: "host".to_owned(),
            digest: Digest::of(self.ledger.read("host", "tools").unwrap_or_default().as_bytes()),
            tier: Tier::Standard,
            compute: Compute::default(),
            hooks: Hooks::default(),
            network: None,
            checks: self.checks(),
            unready: None,
        })
    }

    async fn account(&self, _task: TaskId) -> Result<Account, OutfitError> {
        Ok(Account {
            image: Digest::of(b"host"),
            policy: Digest::of(b"policy"),
            allowed: BTreeSet::from(["model:scripted".to_owned()]),
            reached: vec![Reached {
                host: "model.example".to_owned(),
                requests: 1,
                refused: 0,
                bytes: 10,
            }],
            log: None,
            models: Models {
                of_work: BTreeSet::from(["scripted".to_owned()]),
                of_review: BTreeSet::from(["scripted".to_owned()]),
            },
        })
    }

    async fn refused(&self, task: TaskId, since: Timestamp) -> Result<Vec<Refused>, OutfitError> {
        let kind = format!("refused-{task}");
        let hosts = self.ledger.names(&kind).map_err(busy)?;
        let is_new = |host: &String| {
            let at = self.ledger.read(&kind, host).and_then(|at| at.parse().ok());
            at.is_some_and(|at: i64| at >= since.as_millis())
        };
        let told = hosts.into_iter().filter(is_new);
        let reason = || "it is not in the script".to_owned();
        Ok(told.map(|host| Refused { host, reason: reason() }).collect())
    }
}
