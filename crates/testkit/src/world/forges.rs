//! A forge that keeps commits and pull requests as files.

use contracts::{
    Key,
    forge::{
        Blamed, Change, Comparison, Delivery, Diff, FileChange, FileVersion, Files, ForgeError,
        Forges, LARGEST_RECEIPT, PullRequest, Taking,
    },
    sandbox::Cut,
};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    digest::Digest,
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

    async fn base(&self, repository: &RepositoryName) -> Result<String, ForgeError> {
        if repository.as_str().starts_with("detached") {
            return Err(ForgeError::Rejected { reason: "it is on no branch".to_owned() });
        }
        Ok("main".to_owned())
    }

    async fn take_change(&self, key: Key, taking: &Taking) -> Result<Change, ForgeError> {
        self.ledger.called(&format!("take {key}")).map_err(busy)?;
        let Taking { workflows, message, .. } = taking;
        let asked = format!("workflows {workflows:?}\n{message}");
        self.ledger.set("taking", &key.task.to_string(), &asked).map_err(busy)?;
        self.be_busy(key)?;
        let kind = format!("change-{}", key.task);
        self.ledger.once(&kind, &format!("{:06}", key.seq), "").map_err(busy)?;
        let changes = self.ledger.names(&kind).map_err(busy)?;
        let this = format!("{:06}", key.seq);
        let number = changes.iter().filter(|name| **name <= this).count();
        let text = self.ledger.read("script", &key.task.to_string()).unwrap_or_default();
        let commit = match (Script::parse(&text).same, number) {
            (true, 2..) => taking.parent.clone(),
            (true | false, _) => commit(&key.to_string())?,
        };
        self.ledger.once("commit", commit.as_str(), &format!("{number} {text}")).map_err(busy)?;
        let mut paths = vec!["src/login.rs".to_owned()];
        if Script::parse(&text).strays {
            paths.push("secret/key".to_owned());
        }
        let difference = Digest::of(key.to_string().as_bytes());
        Ok(Change { commit, difference, paths, flags: Vec::new() })
    }

    async fn files(
        &self,
        _repository: &RepositoryName,
        _commit: &CommitId,
        wanted: fn(&str) -> bool,
    ) -> Result<Files, ForgeError> {
        let all = [("Makefile", "test:\n\t./run-tests\n"), ("src/login.rs", "fn login() {}\n")];
        let wanted = all.iter().filter(|(path, _)| wanted(path));
        Ok(Files {
            paths: all.iter().map(|(path, _)| (*path).to_owned()).collect(),
            contents: wanted.map(|(path, text)| ((*path).to_owned(), (*text).into())).collect(),
        })
    }

    async fn compare(
        &self,
        _repository: &RepositoryName,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<Comparison, ForgeError> {
        let version = |commit: &CommitId| FileVersion {
            path: "src/login.rs".to_owned(),
            bytes: Some(format!("fn login() {{ /* {commit} */ }}\n").into_bytes()),
        };
        let patch =
            format!("--- a/src/login.rs\n+++ b/src/login.rs\n@@ -1 +1 @@\n-{base}\n+{head}\n");
        Ok(Comparison {
            tree: commit(&format!("tree of {head}"))?.to_string(),
            files: vec![FileChange { old: Some(version(base)), new: Some(version(head)) }],
            patch: Diff { text: patch.into_bytes(), cut: Cut::Whole },
        })
    }

    /// Every line is from the one commit that has a note, or from the first of the repository.
    async fn blame(
        &self,
        repository: &RepositoryName,
        path: &str,
        line: u32,
    ) -> Result<Blamed, ForgeError> {
        let (text, subject) = (format!("line {line} of {path}"), "the script says so".to_owned());
        let noted = self.ledger.names("note").map_err(busy)?.into_iter().next();
        let commit = match noted.and_then(|name| name.parse().ok()) {
            Some(noted) => noted,
            None => commit(repository.as_str())?,
        };
        Ok(Blamed { commit, text, subject })
    }

    async fn note_on(
        &self,
        _repository: &RepositoryName,
        commit: &CommitId,
    ) -> Result<Option<Vec<u8>>, ForgeError> {
        Ok(self.ledger.read("note", commit.as_str()).map(String::into_bytes))
    }

    async fn note(
        &self,
        _repository: &RepositoryName,
        commit: &CommitId,
        note: &[u8],
    ) -> Result<(), ForgeError> {
        let note = String::from_utf8_lossy(note);
        self.ledger.set("note", commit.as_str(), &note).map_err(busy)
    }

    async fn keep_receipt(
        &self,
        _repository: &RepositoryName,
        _commit: &CommitId,
        envelope: &[u8],
    ) -> Result<(), ForgeError> {
        // Nobody asks for it here, and thousands of tasks are played on small disks.
        if envelope.len() <= LARGEST_RECEIPT {
            return Ok(());
        }
        Err(ForgeError::Rejected { reason: "the receipt is too large".to_owned() })
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
        let is_known =
            self.ledger.read("delivered", &branch).as_deref() == Some(delivery.commit.as_str());
        if !is_known && self.ledger.read("ended", &branch).is_some() {
            let reason = "the pull request has ended".to_owned();
            return Err(ForgeError::Rejected { reason });
        }
        self.ledger.once("push", &format!("{branch}@{}", delivery.commit), "").map_err(busy)?;
        self.ledger.set("body", &branch, &delivery.body).map_err(busy)?;
        self.ledger.set("delivered", &branch, delivery.commit.as_str()).map_err(busy)?;
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
    use contracts::forge::Workflows;
    use domain::{id::SandboxId, time::Timestamp};

    use super::*;

    fn taking() -> Taking {
        Taking {
            sandbox: SandboxId::from_u128(1),
            repository: "acme/web".parse().unwrap(),
            directory: "/workspace/web".to_owned(),
            base: commit("acme/web").unwrap(),
            parent: commit("acme/web").unwrap(),
            at: Timestamp::from_millis(0),
            message: "A change\n".to_owned(),
            workflows: Workflows::NeedApproval,
        }
    }

    #[tokio::test]
    async fn scripted_forges_keep_their_promises() {
        let directory = tempfile::tempdir().unwrap();
        let forges = ScriptedForges::new(Ledger::open(directory.path()).unwrap());
        contracts::promises::forge::kept(
            &forges,
            &taking(),
            &"unknown/web".parse().unwrap(),
            "agent/x".parse().unwrap(),
        )
        .await
        .unwrap();
    }
}
