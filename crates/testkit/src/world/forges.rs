//! A forge that keeps commits and pull requests as files.

use contracts::{
    Key,
    forge::{Change, Delivery, ForgeError, Forges, PullRequest},
};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    digest::Digest,
    id::SandboxId,
};

use crate::{ledger::Ledger, script::Script};

#[derive(Debug, Clone)]
pub struct ScriptedForges {
    ledger: Ledger,
}

impl ScriptedForges {
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }

    /// The script of a task may keep the forge busy for its first calls.
    fn be_busy(&self, key: Key) -> Result<(), ForgeError> {
        let text = self.ledger.read("script", &key.task.to_string()).unwrap_or_default();
        let kind = format!("busy-{}", key.task);
        let so_far = self.ledger.names(&kind).map_err(busy)?.len();
        if (so_far as u64) < u64::from(Script::parse(&text).busy) {
            self.ledger.once(&kind, &so_far.to_string(), "").map_err(busy)?;
            return Err(ForgeError::Busy { reason: "the script says so".to_owned() });
        }
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> ForgeError {
    ForgeError::Busy { reason: error.to_string() }
}

fn commit(text: &str) -> Result<CommitId, ForgeError> {
    let hash: String = Digest::of(text.as_bytes()).to_string().chars().take(40).collect();
    hash.parse().map_err(|_wrong| ForgeError::Rejected { reason: "no commit".to_owned() })
}

impl Forges for ScriptedForges {
    async fn head(&self, repository: &RepositoryName) -> Result<CommitId, ForgeError> {
        if repository.as_str().starts_with("unknown") {
            return Err(ForgeError::NoRepository(repository.clone()));
        }
        commit(repository.as_str())
    }

    async fn take_change(
        &self,
        key: Key,
        _sandbox: SandboxId,
        _repository: &RepositoryName,
    ) -> Result<Change, ForgeError> {
        self.ledger.called(&format!("take {key}")).map_err(busy)?;
        self.be_busy(key)?;
        let kind = format!("change-{}", key.task);
        self.ledger.once(&kind, &format!("{:06}", key.seq), "").map_err(busy)?;
        let changes = self.ledger.names(&kind).map_err(busy)?;
        let this = format!("{:06}", key.seq);
        let number = changes.iter().filter(|name| **name <= this).count();
        let commit = commit(&key.to_string())?;
        let text = self.ledger.read("script", &key.task.to_string()).unwrap_or_default();
        self.ledger.once("commit", commit.as_str(), &format!("{number} {text}")).map_err(busy)?;
        let mut paths = vec!["src/login.rs".to_owned()];
        if Script::parse(&text).strays {
            paths.push("secret/key".to_owned());
        }
        Ok(Change { commit, difference: Digest::of(key.to_string().as_bytes()), paths })
    }

    async fn deliver(&self, key: Key, delivery: &Delivery) -> Result<PullRequest, ForgeError> {
        self.ledger.called(&format!("deliver {key}")).map_err(busy)?;
        self.be_busy(key)?;
        let branch = format!("{}/{}", delivery.repository, delivery.branch);
        let number = if let Some(known) = self.ledger.read("pull", &branch) {
            known
        } else {
            let number = self.next_number()?;
            self.ledger.once("pull", &branch, &number).map_err(busy)?
        };
        self.ledger.once("push", &format!("{branch}@{}", delivery.commit), "").map_err(busy)?;
        let number = PullRequestNumber(number.parse().unwrap_or_default());
        Ok(PullRequest { number, address: format!("scripted:{branch}") })
    }
}

impl ScriptedForges {
    /// Numbers are taken by making a file that did not exist. A crash wastes one, as on a real forge.
    fn next_number(&self) -> Result<String, ForgeError> {
        let mut number = self.ledger.names("number").map_err(busy)?.len() + 1;
        loop {
            let mine = format!("{}-{number}", std::process::id());
            let holder = self.ledger.once("number", &number.to_string(), &mine).map_err(busy)?;
            if holder == mine {
                return Ok(number.to_string());
            }
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn scripted_forges_keep_their_promises() {
        let directory = tempfile::tempdir().unwrap();
        let forges = ScriptedForges::new(Ledger::open(directory.path()).unwrap());
        contracts::promises::forge::kept(
            &forges,
            &"acme/web".parse().unwrap(),
            &"unknown/web".parse().unwrap(),
            SandboxId::from_u128(1),
            "agent/x".parse().unwrap(),
        )
        .await
        .unwrap();
    }
}
