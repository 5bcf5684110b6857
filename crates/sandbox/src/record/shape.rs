//! A record as it is written: versioned, and made of nothing but words and numbers.

use std::{collections::BTreeMap, time::Duration};

use contracts::sandbox::{
    Checkout, CommandName, Compute, Cut, Ended, Finished, Hooks, Owner, Spec, State, Use,
    WorkspaceAccess,
};
use domain::{agent::Tier, code::Access, cost::Cost, task::Purpose, time::Timestamp};
use images::handed::Handed;
use serde::{Deserialize, Serialize};

use super::{BodyRecord, Record};
use crate::stack::Stack;

const VERSION: u16 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Shape {
    version: u16,
    id: String,
    name: Option<String>,
    task: Option<String>,
    person: Option<String>,
    purpose: String,
    image: String,
    tier: String,
    cpu_millis: u32,
    memory_mib: u32,
    disk_mib: u32,
    processes: u32,
    lifetime_millis: u64,
    sources: Vec<SourceShape>,
    hooks: HooksShape,
    /// Records of servers that knew no other are of writable ones.
    #[serde(default)]
    read_only: bool,
    state: String,
    created_at: i64,
    used_at: i64,
    ends_at: i64,
    disk: String,
    stack: Stack,
    body: Option<BodyRecord>,
    #[serde(default)]
    ports: Option<Vec<u16>>,
    answers: BTreeMap<String, AnswerShape>,
    #[serde(default)]
    died: Option<String>,
    /// Records of servers that did not look have nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    handed: BTreeMap<String, Handed>,
}

#[derive(Debug, Serialize, Deserialize)]
struct HooksShape {
    post_clone: String,
    post_start: String,
    pre_teardown: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct SourceShape {
    repository: String,
    commit: String,
    write: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct AnswerShape {
    ending: String,
    number: i64,
    cut: bool,
    cpu_millis: u64,
}

const PURPOSES: [(Use, &str); 6] = [
    (Use::Phase(Purpose::Research), "research"),
    (Use::Phase(Purpose::Implement), "implement"),
    (Use::Phase(Purpose::Verify), "verify"),
    (Use::Phase(Purpose::Review), "review"),
    (Use::Person, "person"),
    (Use::Setup, "setup"),
];

const STATES: [(State, &str); 3] =
    [(State::Open, "open"), (State::Frozen, "frozen"), (State::Resting, "resting")];

const TIERS: [Tier; 3] = [Tier::Verified, Tier::Standard, Tier::Untrusted];

fn word<T: PartialEq>(words: &[(T, &str)], value: &T) -> String {
    let found = words.iter().find(|(known, _)| known == value);
    found.map_or_else(String::new, |(_, word)| (*word).to_owned())
}

fn value<T: Copy>(words: &[(T, &str)], word: &str) -> Result<T, String> {
    let found = words.iter().find(|(_, known)| *known == word);
    found.map(|(value, _)| *value).ok_or_else(|| format!("`{word}` is not known"))
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

impl Shape {
    pub(super) fn of(record: &Record) -> Self {
        let Record { spec, .. } = record;
        let (task, person) = match &spec.owner {
            Owner::Task(task) => (Some(task.to_string()), None),
            Owner::Person(name) => (None, Some(name.clone())),
        };
        let compute = spec.compute;
        Self {
            version: VERSION,
            id: spec.id.to_string(),
            name: spec.name.as_ref().map(ToString::to_string),
            task,
            person,
            purpose: word(&PURPOSES, &spec.purpose),
            image: spec.image.clone(),
            tier: spec.tier.to_string(),
            cpu_millis: compute.cpu_millis,
            memory_mib: compute.memory_mib,
            disk_mib: compute.disk_mib,
            processes: compute.processes,
            lifetime_millis: u64::try_from(compute.lifetime.as_millis()).unwrap_or(u64::MAX),
            sources: spec.sources.iter().map(SourceShape::of).collect(),
            hooks: HooksShape {
                post_clone: spec.hooks.post_clone.clone(),
                post_start: spec.hooks.post_start.clone(),
                pre_teardown: spec.hooks.pre_teardown.clone(),
            },
            read_only: spec.workspace == WorkspaceAccess::ReadOnly,
            state: word(&STATES, &record.state),
            created_at: record.created_at.as_millis(),
            used_at: record.used_at.as_millis(),
            ends_at: record.ends_at.as_millis(),
            disk: record.disk.clone(),
            stack: record.stack.clone(),
            body: record.body.clone(),
            ports: record.ports.clone(),
            answers: record
                .answers
                .iter()
                .map(|(name, answer)| (name.to_string(), AnswerShape::of(answer)))
                .collect(),
            died: record.died.clone(),
            handed: record.handed.clone(),
        }
    }

    pub(super) fn record(self) -> Result<Record, String> {
        if self.version != VERSION {
            return Err(format!("it has version {}, and this is {VERSION}", self.version));
        }
        let owner = match (self.task, self.person) {
            (Some(task), None) => Owner::Task(parsed(&task)?),
            (None, Some(person)) => Owner::Person(person),
            (Some(_), Some(_)) | (None, None) => return Err("it has not one owner".to_owned()),
        };
        let tier = TIERS.into_iter().find(|tier| tier.to_string() == self.tier);
        let answers = self.answers.into_iter();
        let spec = Spec {
            id: parsed(&self.id)?,
            name: self.name.as_deref().map(parsed).transpose()?,
            owner,
            purpose: value(&PURPOSES, &self.purpose)?,
            image: self.image,
            tier: tier.ok_or_else(|| format!("the tier `{}` is not known", self.tier))?,
            compute: Compute {
                cpu_millis: self.cpu_millis,
                memory_mib: self.memory_mib,
                disk_mib: self.disk_mib,
                processes: self.processes,
                lifetime: Duration::from_millis(self.lifetime_millis),
            },
            sources: self.sources.iter().map(SourceShape::checkout).collect::<Result<_, _>>()?,
            hooks: Hooks {
                post_clone: self.hooks.post_clone,
                post_start: self.hooks.post_start,
                pre_teardown: self.hooks.pre_teardown,
            },
            workspace: if self.read_only {
                WorkspaceAccess::ReadOnly
            } else {
                WorkspaceAccess::Writable
            },
            // Conditions are applied at every opening, by whoever opens.
            conditions: None,
            network: None,
        };
        Ok(Record {
            spec,
            state: value(&STATES, &self.state)?,
            created_at: Timestamp::from_millis(self.created_at),
            used_at: Timestamp::from_millis(self.used_at),
            ends_at: Timestamp::from_millis(self.ends_at),
            disk: self.disk,
            stack: self.stack,
            body: self.body,
            ports: self.ports,
            answers: answers
                .map(|(name, answer)| Ok((CommandName::new(name), answer.finished()?)))
                .collect::<Result<_, String>>()?,
            died: self.died,
            handed: self.handed,
        })
    }
}

impl SourceShape {
    fn of(checkout: &Checkout) -> Self {
        Self {
            repository: checkout.repository.to_string(),
            commit: checkout.commit.to_string(),
            write: checkout.access == Access::Write,
        }
    }

    fn checkout(&self) -> Result<Checkout, String> {
        let wrong = |error: domain::code::CodeNameError| error.to_string();
        Ok(Checkout {
            repository: self.repository.parse().map_err(wrong)?,
            commit: self.commit.parse().map_err(wrong)?,
            access: if self.write { Access::Write } else { Access::Read },
        })
    }
}

impl AnswerShape {
    fn of(finished: &Finished) -> Self {
        let (ending, number) = match finished.ending {
            Ended::Exited(code) => ("exited", i64::from(code)),
            Ended::Killed { signal } => ("killed", i64::from(signal)),
            Ended::TimedOut => ("timed-out", 0),
            Ended::OutOfMemory { peak_mib } => ("out-of-memory", i64::from(peak_mib)),
        };
        Self {
            ending: ending.to_owned(),
            number,
            cut: finished.cut == Cut::Cut,
            cpu_millis: finished.cost.cpu_millis,
        }
    }

    fn finished(&self) -> Result<Finished, String> {
        let small = || i32::try_from(self.number).map_err(|error| error.to_string());
        let ending = match self.ending.as_str() {
            "exited" => Ended::Exited(small()?),
            "killed" => Ended::Killed { signal: small()? },
            "timed-out" => Ended::TimedOut,
            "out-of-memory" => {
                Ended::OutOfMemory { peak_mib: u32::try_from(self.number).unwrap_or(u32::MAX) }
            }
            unknown => return Err(format!("the ending `{unknown}` is not known")),
        };
        let cost = Cost { cpu_millis: self.cpu_millis, ..Cost::ZERO };
        Ok(Finished { ending, cut: if self.cut { Cut::Cut } else { Cut::Whole }, cost })
    }
}
