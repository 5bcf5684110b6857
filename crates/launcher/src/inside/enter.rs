//! Takes the ids of the plan, and moves into its files.
//!
//! When this is done, nothing of the host's tree can be reached any more: the host's root has been detached with all below
//! it, here or, with the host's root as launcher, long before.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use launcher::plan::{Failure, Launch, Users};
use rustix::{
    fs::{Mode, OFlags, open},
    mount::{UnmountFlags, unmount},
    process::{Gid, Uid, chroot, fchdir, pivot_root},
    system::sethostname,
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

use super::Prepared;
use crate::{
    failure::{Step, refused},
    idmap::Views,
    mounts::{attach, binds, find, find_or_make, kernel, root, sealed, view_with_mounts},
};

/// Does what needs only the plan. Gives the finished `/dev`, which still stands on the stage.
pub(super) fn take_place(prepared: &Prepared<'_>, launch: &Launch) -> Result<OwnedFd, Failure> {
    take_ids(launch.users)?;
    sethostname(launch.hostname.as_bytes()).step("set the host name")?;
    let step = "make /dev";
    let devices = view_with_mounts(prepared.stage.as_fd(), "dev").step(step)?;
    kernel::read_only(&devices).step(step)?;
    attach(&devices, find(prepared.stage.as_fd(), "devices").step(step)?).step(step)?;
    for (name, mount) in [
        ("pts", kernel::terminals(launch.users)?),
        ("shm", kernel::shared_memory(launch.shared_memory_bytes)?),
        ("mqueue", kernel::queues()?),
    ] {
        attach(mount, find(devices.as_fd(), name).step_on(step, name)?).step_on(step, name)?;
    }
    Ok(devices)
}

/// `trees` are the root and the binds, where the launcher could make them.
pub(super) fn enter(
    prepared: &Prepared<'_>,
    devices: &OwnedFd,
    launch: &Launch,
    mut trees: impl Iterator<Item = OwnedFd>,
) -> Result<(), Failure> {
    let root = match launch.users {
        Users::Range { .. } => trees.next().ok_or_else(|| refused("read the plan", "no root"))?,
        Users::Single => root::plain(launch)?,
    };
    let step = "attach the root";
    attach(&root, find(prepared.stage.as_fd(), "root").step(step)?).step(step)?;
    furnish(root.as_fd(), prepared, devices)?;
    for bind in &launch.binds {
        let tree = match launch.users {
            Users::Range { .. } => {
                trees.next().ok_or_else(|| refused("read the plan", "no bind"))?
            }
            Users::Single => binds::plain(bind, &binds::Nothing::make(Views::Detached)?)?,
        };
        binds::place(root.as_fd(), bind, &tree)?;
    }
    launch.sealed.iter().try_for_each(|path| sealed::seal(root.as_fd(), path))?;
    match launch.users {
        Users::Range { .. } => cover_stage(&root),
        Users::Single => change_root(&root),
    }
}

/// Makes `root` the root, and detaches the old one with all below it.
pub(super) fn change_root(root: &OwnedFd) -> Result<(), Failure> {
    let step = "change the root";
    fchdir(root).step(step)?;
    pivot_root(".", ".").step(step)?;
    unmount(".", UnmountFlags::DETACH).step(step)
}

/// Puts `root` over the stage, which was the root until now. The stage holds nothing but what the sandbox has anyway, and
/// this costs a tenth of detaching it.
fn cover_stage(root: &OwnedFd) -> Result<(), Failure> {
    let step = "cover the stage";
    let stage = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).step(step)?;
    attach(root, stage).step(step)?;
    fchdir(root).step(step)?;
    chroot(".").step(step)
}

fn take_ids(users: Users) -> Result<(), Failure> {
    let step = "take the ids";
    match users {
        Users::Range { .. } => {
            set_thread_groups(&[]).step(step)?;
            set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT).step(step)?;
            set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT).step(step)
        }
        // The map has made us the agent already, and groups are denied.
        Users::Single => Ok(()),
    }
}

/// Brings `/proc`, `/dev` and `/sys` into the new root, and sees that there is a `/tmp`.
fn furnish(
    root: BorrowedFd<'_>,
    prepared: &Prepared<'_>,
    devices: &OwnedFd,
) -> Result<(), Failure> {
    let step = "furnish the root";
    let place = |name: &str| find_or_make(root, name, 0o755).step_on(step, name);
    attach(prepared.processes.as_fd(), place("proc")?).step_on(step, "proc")?;
    attach(devices, place("dev")?).step_on(step, "dev")?;
    let system = view_with_mounts(prepared.stage.as_fd(), "sys").step_on(step, "sys")?;
    kernel::read_only(&system).step_on(step, "sys")?;
    attach(system, place("sys")?).step_on(step, "sys")?;
    find_or_make(root, "tmp", 0o1777).step_on(step, "tmp")?;
    Ok(())
}
