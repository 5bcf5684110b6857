//! What root may still do inside.
//!
//! Enough to install packages and to be several users; nothing that reaches the kernel.

use launcher::{
    plan::{Failure, Users},
    root_inside::ROOT_INSIDE,
};
use rustix::{
    io::Errno,
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities,
    },
};

use crate::failure::Step;

const STEP: &str = "drop capabilities";

/// With this the guest empties the bounding set of everything that it starts; it passes it on to nobody.
const GUEST: CapabilitySet = ROOT_INSIDE.union(CapabilitySet::SETPCAP);

/// Above the newest capability of any kernel that we know.
const BEYOND: u32 = 63;

/// What a sandbox keeps.
pub(crate) fn kept(users: Users) -> CapabilitySet {
    match users {
        Users::Range { .. } => GUEST,
        Users::Single => CapabilitySet::empty(),
    }
}

/// Takes from the bounding set what no program may ever get.
pub(crate) fn bound(kept: CapabilitySet) -> Result<(), Failure> {
    for number in 0..BEYOND {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            // The first number that this kernel does not know: it knows none above.
            Err(Errno::INVAL) => return Ok(()),
            other => other.step(STEP)?,
        }
    }
    Ok(())
}

/// Gives up all others, now.
pub(crate) fn keep(kept: CapabilitySet) -> Result<(), Failure> {
    clear_ambient_capability_set().step(STEP)?;
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).step(STEP)
}
