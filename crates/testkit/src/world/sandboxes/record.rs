//! One scripted sandbox, as the ledger keeps it.

use std::time::Duration;

use contracts::sandbox::{Compute, Listed, Owner, Spec, State, Use, WorkspaceAccess};
use domain::{agent::Tier, id::SandboxId, task::Purpose};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) name: Option<String>,
    /// A task's id, or `person:` and a name.
    pub(super) owner: String,
    pub(super) purpose: String,
    pub(super) state: Life,
    pub(super) image: String,
    pub(super) tier: String,
    /// CPU, memory, disk, processes, and the lifetime in seconds.
    pub(super) compute: [u64; 5],
    pub(super) read_only: bool,
    /// The commit of the first repository.
    pub(super) commit: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Life {
    Open,
    Frozen,
    Resting,
}

/// What comes before a person's name.
const PERSON: &str = "person:";
const TIERS: &[Tier] = &[Tier::Verified, Tier::Standard, Tier::Untrusted];
const USES: &[(Use, &str)] = &[
    (Use::Phase(Purpose::Research), "research"),
    (Use::Phase(Purpose::Implement), "implement"),
    (Use::Phase(Purpose::Verify), "verify"),
    (Use::Phase(Purpose::Review), "review"),
    (Use::Person, "person"),
    (Use::Setup, "setup"),
];

impl Record {
    pub(super) fn new(spec: &Spec) -> Self {
        let Compute { cpu_millis, memory_mib, disk_mib, processes, lifetime } = spec.compute;
        let purpose = USES.iter().find(|(it, _)| *it == spec.purpose).map(|(_, name)| *name);
        Self {
            name: spec.name.as_ref().map(ToString::to_string),
            owner: owner_text(&spec.owner),
            purpose: purpose.unwrap_or_default().to_owned(),
            state: Life::Open,
            image: spec.image.clone(),
            tier: spec.tier.to_string(),
            compute: [
                cpu_millis.into(),
                memory_mib.into(),
                disk_mib.into(),
                processes.into(),
                lifetime.as_secs(),
            ],
            read_only: spec.workspace == WorkspaceAccess::ReadOnly,
            commit: spec.sources.first().map(|it| it.commit.to_string()).unwrap_or_default(),
        }
    }

    pub(super) fn listed(&self, id: SandboxId) -> Option<Listed> {
        let [cpu, memory, disk, processes, seconds] = self.compute;
        let small = |number: u64| u32::try_from(number).ok();
        Some(Listed {
            id,
            died: None,
            name: self.name.as_ref().and_then(|name| name.parse().ok()),
            owner: match self.owner.strip_prefix(PERSON) {
                Some(name) => Owner::Person(name.to_owned()),
                None => Owner::Task(self.owner.parse().ok()?),
            },
            purpose: USES.iter().find(|(_, name)| *name == self.purpose)?.0,
            state: match self.state {
                Life::Open => State::Open,
                Life::Frozen => State::Frozen,
                Life::Resting => State::Resting,
            },
            image: self.image.clone(),
            tier: *TIERS.iter().find(|tier| tier.name() == self.tier)?,
            compute: Compute {
                cpu_millis: small(cpu)?,
                memory_mib: small(memory)?,
                disk_mib: small(disk)?,
                processes: small(processes)?,
                lifetime: Duration::from_secs(seconds),
            },
            workspace: if self.read_only {
                WorkspaceAccess::ReadOnly
            } else {
                WorkspaceAccess::Writable
            },
            created_at_millis: 0,
        })
    }
}

/// The same for every sandbox of one owner.
pub(super) fn owner_text(owner: &Owner) -> String {
    match owner {
        Owner::Task(task) => task.to_string(),
        Owner::Person(name) => format!("{PERSON}{name}"),
    }
}
