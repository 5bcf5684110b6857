//! What to open: whose it is, what it is made of, how much it may use.

use std::{fmt, str::FromStr, time::Duration};

use domain::{
    agent::Tier,
    approval::Conditions,
    code::{Access, CommitId, RepositoryName},
    id::SandboxId,
    task::Purpose,
};

use crate::{egress::Network, owner::Owner};

/// What to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub id: SandboxId,
    /// How people call it. Unique among those that exist.
    pub name: Option<SandboxName>,
    pub owner: Owner,
    pub purpose: Use,
    /// A base (`host`, `dir:/srv/rootfs`, `tar:/srv/rootfs.tar`, `oci:…`) or a built image (`image:KEY`).
    pub image: String,
    pub tier: Tier,
    pub compute: Compute,
    /// What is inside when it is first opened. Waking it changes nothing inside.
    pub sources: Vec<Checkout>,
    /// What is run at the turns of its life.
    pub hooks: Hooks,
    /// Whether what runs inside can change the repositories. Said anew at every opening.
    pub workspace: WorkspaceAccess,
    /// What the approver allowed, for an implementing sandbox. Applied anew at every opening.
    pub conditions: Option<Conditions>,
    /// What it may reach, and with which credentials; nothing, without one. Said anew at every opening; where an opening is
    /// silent, what was said last holds.
    pub network: Option<Network>,
}

/// What can be done with [`WORKSPACE`](super::WORKSPACE) and all below it, `.git` of every repository included.
///
/// Read-only is held by a mount, not by anybody's promise: for the agent and for root inside alike, and in every command. Homes,
/// `/tmp` and all else stay as they are. The repositories are brought in, and `post_clone` is run, before it holds; `post_start`
/// and all that follows run under it. One that is open with the other value is put to rest and woken: what runs in it ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorkspaceAccess {
    #[default]
    Writable,
    ReadOnly,
}

/// Scripts for `/bin/sh`, run inside as the agent in the first source's directory (IM4). Empty ones are not run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Once, after the repositories were checked out. A failure fails the opening.
    pub post_clone: String,
    /// After every start, also after a rest. A failure fails the opening.
    pub post_start: String,
    /// Before everything is stopped, by a rest or for good. A failure stops nothing.
    pub pre_teardown: String,
}

/// What it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A phase of a task.
    Phase(Purpose),
    /// A person's own computer.
    Person,
    /// Building an image. Only such a sandbox can become one (IM5).
    Setup,
}

/// How people call a sandbox: 1 to 64 letters in lower case, digits or `-`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SandboxName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a sandbox's name: 1 to 64 letters in lower case, digits or `-`, beginning with a letter"
)]
pub struct SandboxNameError(pub String);

impl SandboxName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SandboxName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SandboxName {
    type Err = SandboxNameError;

    fn from_str(name: &str) -> Result<Self, SandboxNameError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
        if begins_well && name.len() <= 64 && name.chars().all(plain) {
            return Ok(Self(name.to_owned()));
        }
        Err(SandboxNameError(name.to_owned()))
    }
}

/// A repository inside the sandbox. From one with [`Access::Read`] nothing is ever taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub repository: RepositoryName,
    pub commit: CommitId,
    pub access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compute {
    pub cpu_millis: u32,
    pub memory_mib: u32,
    pub disk_mib: u32,
    pub processes: u32,
    pub lifetime: Duration,
}

impl Default for Compute {
    fn default() -> Self {
        Self {
            cpu_millis: 1_000,
            memory_mib: 4_096,
            disk_mib: 20_480,
            processes: 1_024,
            lifetime: Duration::from_hours(2),
        }
    }
}

impl Compute {
    /// The most that a sandbox may have (SB3).
    pub const MOST: Self = Self {
        cpu_millis: 16_000,
        memory_mib: 65_536,
        disk_mib: 1 << 20,
        processes: 65_536,
        lifetime: Duration::from_hours(24),
    };
    /// The least that lets a shell start.
    pub const LEAST: Self = Self {
        cpu_millis: 10,
        memory_mib: 16,
        disk_mib: 1,
        processes: 8,
        lifetime: Duration::from_secs(1),
    };

    /// Whether every limit is within what a sandbox may have; otherwise the first that is not, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        let limits = [
            (
                "cpu",
                self.cpu_millis,
                Self::LEAST.cpu_millis,
                Self::MOST.cpu_millis,
                "thousandths of a core",
            ),
            ("memory", self.memory_mib, Self::LEAST.memory_mib, Self::MOST.memory_mib, "MiB"),
            ("disk", self.disk_mib, Self::LEAST.disk_mib, Self::MOST.disk_mib, "MiB"),
            ("processes", self.processes, Self::LEAST.processes, Self::MOST.processes, "processes"),
        ];
        for (name, value, least, most, unit) in limits {
            if !(least..=most).contains(&value) {
                return Err(format!(
                    "{name} is {value} {unit}, and must be from {least} to {most}"
                ));
            }
        }
        if (Self::LEAST.lifetime..=Self::MOST.lifetime).contains(&self.lifetime) {
            return Ok(());
        }
        let (least, most) = (Self::LEAST.lifetime.as_secs(), Self::MOST.lifetime.as_secs());
        let value = self.lifetime.as_secs();
        Err(format!("the lifetime is {value} s, and must be from {least} to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_plain_word() {
        assert!("blue-fox-2".parse::<SandboxName>().is_ok());
        for wrong in ["", "a/b", "A", "2x", "-x", "a b", "a\n", "..", &"a".repeat(65)] {
            assert!(wrong.parse::<SandboxName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_of_zero_is_named() {
        let compute = Compute { memory_mib: 0, ..Compute::default() };
        insta::assert_snapshot!(compute.check().unwrap_err(), @"memory is 0 MiB, and must be from 16 to 65536");
        assert_eq!(Compute::default().check(), Ok(()));
        assert_eq!(Compute::MOST.check(), Ok(()));
        assert_eq!(Compute::LEAST.check(), Ok(()));
    }
}
