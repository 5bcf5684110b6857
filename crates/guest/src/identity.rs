//! Becoming the user that a job runs as, and nobody more.
//!
//! What is done here is done in the job's own process, after the fork and before anything of the user runs.
//! Nothing here allocates: the process may still share the guest's memory.

use guest::protocol::{Refusal, Who};
use rustix::{
    fs::{Gid, Uid},
    io::Errno,
    thread::{
        CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
        clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
        set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    },
};

use self::root_inside::ROOT_INSIDE;
use crate::arguments::Users;

/// The user, and group, that agents are.
pub(crate) const AGENT: u32 = 1_000;

#[path = "../../launcher/src/root_inside.rs"]
#[expect(unreachable_pub, reason = "it is public in the launcher, whose file it is")]
mod root_inside;

/// Which users this sandbox has, and what there is to give up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identities {
    users: Users,
    /// What is in the bounding set and can be taken out of it.
    unbindable: CapabilitySet,
    permitted: CapabilitySet,
}

/// Who a process is to become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    id: Option<u32>,
    /// To be removed from the bounding set.
    unbound: CapabilitySet,
    kept: CapabilitySet,
    outside: bool,
}

impl Identities {
    pub(crate) fn of_this_process(users: Users) -> Self {
        let each = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
        let known =
            each.map_while(|one| capability_is_in_bounding_set(one).ok().map(|bound| (one, bound)));
        let bounding = known
            .filter(|(_, bound)| *bound)
            .fold(CapabilitySet::empty(), |all, (one, _)| all | one);
        let permitted = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.permitted);
        // Without this capability the kernel lets nobody empty the bounding set. The user can still gain nothing:
        // no_new_privs is set for good, and whoever has no capability then never gets one.
        let bounding = if permitted.contains(CapabilitySet::SETPCAP) {
            bounding
        } else {
            CapabilitySet::empty()
        };
        Self { users, unbindable: bounding, permitted }
    }

    pub(crate) fn of(&self, who: Who) -> Result<Identity, Refusal> {
        let nobody_else = Identity {
            id: None,
            unbound: self.unbindable,
            kept: CapabilitySet::empty(),
            outside: false,
        };
        match (self.users, who) {
            (Users::Outside, _) => Ok(Identity { outside: true, ..nobody_else }),
            (Users::Single, Who::Agent) => Ok(nobody_else),
            (Users::Single, Who::Root) => Err(Refusal::NoSuchUser),
            (Users::Range, Who::Agent) => Ok(Identity { id: Some(AGENT), ..nobody_else }),
            (Users::Range, Who::Root) => Ok(Identity {
                id: Some(0),
                unbound: self.unbindable.difference(ROOT_INSIDE),
                kept: self.permitted.intersection(ROOT_INSIDE),
                outside: false,
            }),
        }
    }
}

impl Identity {
    /// The owner that pipes and terminals of the job should have, if they are not the job's already.
    pub(crate) fn owner(&self) -> Option<u32> {
        self.id.filter(|id| *id != 0)
    }

    /// Becomes it, for good.
    pub(crate) fn assume(&self) -> Result<(), Errno> {
        if self.outside {
            return Ok(());
        }
        for bit in self.unbound.iter() {
            remove_capability_from_bounding_set(bit)?;
        }
        match clear_ambient_capability_set() {
            // A kernel without such a set has nothing to clear.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(errno) => return Err(errno),
        }
        if let Some(id) = self.id {
            let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
            set_thread_groups(&[])?;
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
        }
        let (effective, permitted) = (self.kept, self.kept);
        set_capabilities(
            None,
            CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() },
        )
    }
}
