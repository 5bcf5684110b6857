//! `/proc` with its masks, terminals, shared memory and message queues.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use launcher::plan::{Failure, Users};
use rustix::{
    fs::{AtFlags, FileType, statat},
    io::Errno,
    mount::MountAttrFlags,
};

use super::{Setting, attach, detached, find, view};
use crate::{
    failure::Step,
    syscalls::{MountAttributes, mount_setattr},
};

/// Tells about the host, its memory or its hardware, or is slow to read.
const MASKED: [&str; 19] = [
    "acpi",
    "asound",
    "interrupts",
    "kallsyms",
    "kcore",
    "keys",
    "latency_stats",
    "sched_debug",
    "scsi",
    "timer_list",
    "timer_stats",
    "kmsg",
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "slabinfo",
    "vmallocinfo",
    "config.gz",
    "driver",
];

/// Changes the kernel.
const READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];

const QUIET: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID
    .union(MountAttrFlags::MOUNT_ATTR_NODEV)
    .union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// How many files `/dev/shm` may hold.
const SHARED_FILES: &str = "65536";

/// How many terminals a sandbox may have. All sandboxes and the host share 4096, and one must not take them all.
const TERMINALS: &str = "256";

/// `/proc` of this process's own pid namespace.
pub(crate) fn processes() -> Result<OwnedFd, Failure> {
    detached("proc", &[], QUIET).step("mount /proc")
}

/// Covers what must not be seen of an attached `/proc`, and freezes what must not be changed.
pub(crate) fn mask(processes: BorrowedFd<'_>, stage: BorrowedFd<'_>) -> Result<(), Failure> {
    let step = "mask /proc";
    for name in MASKED {
        let kind = match statat(processes, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            other => FileType::from_raw_mode(other.step_on(step, name)?.st_mode),
        };
        let cover = if kind == FileType::Directory { "empty" } else { "dev/null" };
        let cover = view(stage, cover).step_on(step, name)?;
        read_only(&cover).step_on(step, name)?;
        attach(cover, find(processes, name).step_on(step, name)?).step_on(step, name)?;
    }
    for name in READ_ONLY {
        let target = match find(processes, name) {
            Err(Errno::NOENT) => continue,
            other => other.step_on(step, name)?,
        };
        let same = view(processes, name).step_on(step, name)?;
        read_only(&same).step_on(step, name)?;
        attach(same, target).step_on(step, name)?;
    }
    Ok(())
}

/// Makes a detached mount read-only.
pub(crate) fn read_only(tree: &OwnedFd) -> std::io::Result<()> {
    let change = MountAttributes { set: libc::MOUNT_ATTR_RDONLY, ..MountAttributes::default() };
    mount_setattr(tree.as_fd(), &change)
}

/// Terminals of the sandbox's own.
pub(crate) fn terminals(users: Users) -> Result<OwnedFd, Failure> {
    let mut settings = vec![
        Setting::Flag("newinstance"),
        Setting::Text("ptmxmode", "0666"),
        Setting::Text("mode", "0620"),
        Setting::Text("max", TERMINALS),
    ];
    match users {
        // The group `tty`.
        Users::Range { .. } => settings.push(Setting::Text("gid", "5")),
        Users::Single => {}
    }
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    detached("devpts", &settings, attributes).step("mount /dev/pts")
}

/// `/dev/shm`, counted as memory of the sandbox.
pub(crate) fn shared_memory(bytes: u64) -> Result<OwnedFd, Failure> {
    let bytes = bytes.to_string();
    let settings = [
        Setting::Text("size", &bytes),
        Setting::Text("nr_inodes", SHARED_FILES),
        Setting::Text("mode", "1777"),
    ];
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    detached("tmpfs", &settings, attributes).step("mount /dev/shm")
}

/// Message queues of the sandbox's own ipc namespace.
pub(crate) fn queues() -> Result<OwnedFd, Failure> {
    detached("mqueue", &[], QUIET).step("mount /dev/mqueue")
}
