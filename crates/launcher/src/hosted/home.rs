//! What a runtime sees of the host: the system's programs and libraries, read-only, and a few devices.
//!
//! Everything else of the host is left behind. A copy of its mounts would not only show more than is needed: it would keep
//! in use, for as long as the sandbox lives, whatever the host wants to unmount.

use std::{
    fs, io,
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
};

use launcher::plan::{Failure, STAGE};
use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, open, symlinkat},
    mount::{
        MountAttrFlags, MountPropagationFlags, OpenTreeFlags, UnmountFlags, mount_change,
        open_tree, unmount,
    },
    process::{fchdir, pivot_root},
};

use crate::{
    failure::Step,
    mounts::{
        Setting, attach, detached, find,
        furniture::{self, Nodes},
        kernel, view,
    },
    syscalls::{MountAttributes, mount_setattr},
};

/// Where programs and their libraries are. On most systems all but the first are links.
const SYSTEM: [&str; 6] = ["usr", "bin", "sbin", "lib", "lib32", "lib64"];

/// For the guest, the configuration, and what the runtime writes down and complains about.
const SIZE: &str = "16m";

const STEP: &str = "make a home for the runtime";

/// Made by the host's root, to be moved into.
#[derive(Debug)]
pub(super) struct Home {
    furniture: OwnedFd,
    system: Vec<(&'static str, Part)>,
}

#[derive(Debug)]
enum Part {
    Link(PathBuf),
    Tree(OwnedFd),
}

impl Home {
    pub(super) fn of_this_host(base: u32) -> Result<Self, Failure> {
        let furniture = furniture::make(Nodes::New)?;
        furniture::give_to(&furniture, base)?;
        let mut system = Vec::new();
        for name in SYSTEM {
            if let Some(part) = part(name).step_on(STEP, name)? {
                system.push((name, part));
            }
        }
        Ok(Self { furniture, system })
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = &OwnedFd> {
        let trees = self.system.iter().filter_map(|(_, part)| match part {
            Part::Tree(tree) => Some(tree),
            Part::Link(_) => None,
        });
        trees.chain([&self.furniture])
    }

    /// Makes it the root of this process, which has a mount namespace of its own.
    pub(super) fn move_in(&self) -> Result<(), Failure> {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).step("leave the host's mounts")?;
        let settings = [Setting::Text("size", SIZE), Setting::Text("mode", "755")];
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let home = detached("tmpfs", &settings, attributes).step(STEP)?;
        let over = open("/dev", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).step(STEP)?;
        attach(&home, over).step(STEP)?;
        let make = |name: &str| {
            mkdirat(&home, name, Mode::from_raw_mode(0o755)).step_on(STEP, name)?;
            find(home.as_fd(), name).step_on(STEP, name)
        };
        // gVisor makes its own empty root over `/tmp`.
        make("tmp")?;
        make(STAGE.trim_start_matches('/'))?;
        attach(kernel::processes()?, make("proc")?).step_on(STEP, "proc")?;
        attach(&self.furniture, make("furniture")?).step_on(STEP, "dev")?;
        let devices = view(self.furniture.as_fd(), "dev").step_on(STEP, "dev")?;
        attach(devices, make("dev")?).step_on(STEP, "dev")?;
        for name in ["sys", "sys/fs"] {
            make(name)?;
        }
        // `runc` does not begin where it sees none. It may change nothing there, and can do without.
        let groups = detached("cgroup2", &[], attributes).step_on(STEP, "control groups")?;
        attach(groups, make("sys/fs/cgroup")?).step_on(STEP, "control groups")?;
        for (name, part) in &self.system {
            match part {
                Part::Link(target) => symlinkat(target, &home, *name).step_on(STEP, name)?,
                Part::Tree(tree) => attach(tree, make(name)?).step_on(STEP, name)?,
            }
        }
        fchdir(&home).step(STEP)?;
        pivot_root(".", ".").step(STEP)?;
        unmount(".", UnmountFlags::DETACH).step(STEP)
    }
}

/// A directory at the host's root, without what is mounted below it. `None` where the host has no such.
fn part(name: &str) -> io::Result<Option<Part>> {
    let path = format!("/{name}");
    let Ok(about) = fs::symlink_metadata(&path) else { return Ok(None) };
    if about.is_symlink() {
        return Ok(Some(Part::Link(fs::read_link(&path)?)));
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, &path, flags)?;
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    mount_setattr(tree.as_fd(), &MountAttributes { set, ..MountAttributes::default() })?;
    Ok(Some(Part::Tree(tree)))
}
