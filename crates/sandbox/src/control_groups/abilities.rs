//! What this host lets this user do with control groups, and what to do about the rest.

/// Each as far as this user may on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    pub cpu: Ability,
    pub memory: Ability,
    pub pids: Ability,
    pub freeze: Ability,
    /// Everything in a group at once, without a race against its forks.
    pub kill: Ability,
    pub io: Ability,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ability {
    Yes,
    /// Why not, as a part of a sentence.
    No(String),
}

impl Ability {
    pub fn is_given(&self) -> bool {
        matches!(self, Self::Yes)
    }
}

impl Abilities {
    /// What is missing, each as a sentence with the remedy.
    pub fn weaker(&self) -> Vec<String> {
        let all = [
            (&self.cpu, "the CPU time of a sandbox is not limited"),
            (
                &self.memory,
                "the memory of a sandbox is watched ten times a second, and what it keeps in files without a name is not seen",
            ),
            (
                &self.pids,
                "the number of processes of a sandbox is held by a limit of its user, and not counted",
            ),
            (&self.freeze, "a sandbox cannot be frozen"),
            (&self.kill, "the processes of a sandbox are killed one by one"),
            (&self.io, "the bytes that a sandbox reads and writes are not counted"),
        ];
        all.into_iter()
            .filter_map(|(ability, consequence)| match ability {
                Ability::Yes => None,
                Ability::No(reason) => Some(format!("{consequence}: {reason}; {REMEDY}")),
            })
            .collect()
    }
}

const REMEDY: &str =
    "run `lamp up` as root, or as a systemd service with `Delegate=yes`, on a kernel from 5.14 on";
