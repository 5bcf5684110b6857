//! Joining control groups without waiting for the whole machine.
//!
//! To move a process into a group, the kernel waits until every CPU has passed a quiet moment: some ten milliseconds, more on
//! a busy host, for every sandbox. While a hierarchy with `favordynmods` exists it does without, at the price of a fork that
//! is slower by an atomic addition. Ours has no controllers, is mounted nowhere, and goes when the launcher goes.

use std::os::fd::OwnedFd;

use rustix::mount::MountAttrFlags;

use crate::mounts::{Setting, detached};

/// Makes joining quick for as long as it is held. Nothing, where the kernel does not know how: then joining takes its time.
pub(crate) fn quick() -> Option<OwnedFd> {
    let settings = [
        Setting::Flag("none"),
        Setting::Text("name", "lamplighter"),
        Setting::Flag("favordynmods"),
    ];
    detached("cgroup", &settings, MountAttrFlags::empty()).ok()
}
