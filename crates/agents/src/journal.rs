//! What has to be known after a restart: how finished runs ended, and what unfinished ones are called.
//!
//! A run may be asked for twice, because whoever asked crashed before it heard the answer. Then it gets the first answer. One
//! that had not ended goes on in the same session, after what is left of its process was ended.
//!
//! ```text
//!  <directory>/<task>/<seq>-<part>-<number>.json    one run
//!  <directory>/<task>/memory-<program>-<n>.tar      what a program remembers, see `memory`
//! ```

use std::{
    io,
    path::{Path, PathBuf},
};

use contracts::{
    Key,
    agent::{Answer, Finding, Outcome},
};
use domain::{
    id::TaskId,
    money::Money,
    plan::{Estimate, FileChange, Plan},
};
use files::Durability;
use fs_err as fs;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone)]
pub(crate) struct Journal {
    directory: PathBuf,
}

/// One run, as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// How many processes were started for it.
    pub(crate) processes: u32,
    pub(crate) session: Option<String>,
    answer: Option<Kept>,
}

impl Journal {
    pub(crate) fn open(directory: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        Ok(Self { directory })
    }

    pub(crate) fn entry(&self, key: Key) -> io::Result<Entry> {
        match fs::read(self.path(key)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Entry::default()),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn write(&self, key: Key, entry: &Entry) -> io::Result<()> {
        let bytes = serde_json::to_vec(entry).map_err(io::Error::other)?;
        write_whole(&self.path(key), &bytes)
    }

    /// Where the things of a task are.
    pub(crate) fn task(&self, task: TaskId) -> PathBuf {
        self.directory.join(task.to_string())
    }

    fn path(&self, key: Key) -> PathBuf {
        self.task(key.task).join(format!("{}-{}-{}.json", key.seq, key.part, key.number))
    }
}

/// All of it or nothing, whenever the machine stops.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::make_directory(path.parent().unwrap_or(path))?;
    files::write(path, bytes, files::PRIVATE, Durability::Synced)
}

impl Entry {
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let answer = self.answer.clone()?.into();
        Some(Outcome { answer, session: self.session.clone() })
    }

    pub(crate) fn finish(&mut self, outcome: &Outcome) {
        self.answer = Some(outcome.answer.clone().into());
        self.session.clone_from(&outcome.session);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Kept {
    Question { text: String, choices: Vec<String> },
    Notes(String),
    Plan(KeptPlan),
    Change,
    Review(Vec<KeptFinding>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptPlan {
    summary: String,
    files: Vec<(String, String)>,
    tests: Vec<String>,
    expected_behaviour: String,
    commands: Vec<String>,
    hosts: Vec<String>,
    risks: Vec<String>,
    millis: Option<u64>,
    micros: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptFinding {
    path: String,
    line: u32,
    what: String,
    failing_input: String,
}

impl From<Answer> for Kept {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Question { text, choices } => Self::Question { text, choices },
            Answer::Notes(notes) => Self::Notes(notes),
            Answer::Plan(plan) => Self::Plan(plan.into()),
            Answer::Change => Self::Change,
            Answer::Review(findings) => {
                let kept = |it: Finding| KeptFinding {
                    path: it.path,
                    line: it.line,
                    what: it.what,
                    failing_input: it.failing_input,
                };
                Self::Review(findings.into_iter().map(kept).collect())
            }
        }
    }
}

impl From<Kept> for Answer {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Question { text, choices } => Self::Question { text, choices },
            Kept::Notes(notes) => Self::Notes(notes),
            Kept::Plan(plan) => Self::Plan(plan.into()),
            Kept::Change => Self::Change,
            Kept::Review(findings) => {
                let finding = |it: KeptFinding| Finding {
                    path: it.path,
                    line: it.line,
                    what: it.what,
                    failing_input: it.failing_input,
                };
                Self::Review(findings.into_iter().map(finding).collect())
            }
        }
    }
}

impl From<Plan> for KeptPlan {
    fn from(plan: Plan) -> Self {
        let millis =
            |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            summary: plan.summary,
            files: plan.files.into_iter().map(|it| (it.path, it.why)).collect(),
            tests: plan.tests,
            expected_behaviour: plan.expected_behaviour,
            commands: plan.commands,
            hosts: plan.hosts,
            risks: plan.risks,
            millis: plan.estimate.time.map(millis),
            micros: plan.estimate.cost.map(Money::as_micros),
        }
    }
}

impl From<KeptPlan> for Plan {
    fn from(kept: KeptPlan) -> Self {
        Self {
            summary: kept.summary,
            files: kept.files.into_iter().map(|(path, why)| FileChange { path, why }).collect(),
            tests: kept.tests,
            expected_behaviour: kept.expected_behaviour,
            commands: kept.commands,
            hosts: kept.hosts,
            risks: kept.risks,
            estimate: Estimate {
                time: kept.millis.map(std::time::Duration::from_millis),
                cost: kept.micros.map(Money::from_micros),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_finished_run_is_known_again() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(directory.path().join("agents")).unwrap();
        let key = Key { task: TaskId::from_u128(7), seq: 3, part: "agent", number: 0 };
        assert_eq!(journal.entry(key).unwrap(), Entry::default());
        let plan = Plan {
            summary: "s".to_owned(),
            files: vec![FileChange { path: "a".to_owned(), why: "b".to_owned() }],
            tests: vec!["t".to_owned()],
            expected_behaviour: "e".to_owned(),
            commands: vec!["c".to_owned()],
            hosts: vec!["h".to_owned()],
            risks: vec!["r".to_owned()],
            estimate: Estimate {
                time: Some(Duration::from_mins(1)),
                cost: Some(Money::from_micros(5)),
            },
        };
        let finding = Finding {
            path: "p".to_owned(),
            line: 4,
            what: "w".to_owned(),
            failing_input: "f".to_owned(),
        };
        for answer in [
            Answer::Plan(plan),
            Answer::Review(vec![finding]),
            Answer::Change,
            Answer::Notes("n".to_owned()),
            Answer::Question { text: "q".to_owned(), choices: vec!["a".to_owned()] },
        ] {
            let outcome = Outcome { answer, session: Some("s-1".to_owned()) };
            let mut entry = journal.entry(key).unwrap();
            entry.finish(&outcome);
            journal.write(key, &entry).unwrap();
            assert_eq!(journal.entry(key).unwrap().outcome(), Some(outcome));
        }
    }
}
