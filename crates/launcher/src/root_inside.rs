//! What root may still do inside: power over the sandbox's own files, users and ports, and nothing that reaches the kernel.
//!
//! The launcher gives the sandbox no more than this, and the guest gives no more to the jobs that it starts as root. A runtime that
//! hosts a sandbox is told the same. Guest and launcher use no room, so the guest includes this one file, and nobody can have another list.

use rustix::thread::CapabilitySet;

pub const ROOT_INSIDE: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SETFCAP);
