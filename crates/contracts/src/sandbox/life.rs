//! What exists, in which state, and what it uses.

use domain::{agent::Tier, cost::Cost, id::SandboxId};

use super::{Compute, Owner, SandboxName, Use, WorkspaceAccess};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: SandboxId,
    pub name: Option<SandboxName>,
    pub owner: Owner,
    pub purpose: Use,
    pub state: State,
    pub image: String,
    pub tier: Tier,
    pub compute: Compute,
    pub workspace: WorkspaceAccess,
    pub created_at_millis: i64,
    /// Why it ended by itself, until it is opened again.
    pub died: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Frozen,
    Resting,
}

/// What a sandbox uses. Counters never decrease, not even over a rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    pub cost: Cost,
    pub memory_bytes: u64,
    pub memory_peak_bytes: u64,
    pub disk_bytes: u64,
    pub disk_files: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub processes: u32,
    /// How often something inside was killed because the memory ran out.
    pub out_of_memory: u64,
}
