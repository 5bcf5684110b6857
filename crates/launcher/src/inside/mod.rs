//! The first process of a sandbox, until it becomes the guest.
//!
//! ```text
//!   born ─▶ prepare: network, /proc, limits ─▶ wait for the plan ─▶ take place: ids, /dev
//!                                                                     │
//!                                                wait for what the launcher mounts
//!                                                                     │
//!          enter: root, binds ─▶ wait for control groups ─▶ lock: capabilities, Landlock, seccomp ─▶ guest
//! ```
//!
//! It is a copy of the launcher that shares nothing with it any more. It never returns: it becomes the guest or ends.

mod enter;
mod lock;

use std::{
    convert::Infallible,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use launcher::plan::{Failure, Users};
use rustix::{
    fs::{Mode, OFlags, open},
    io::fcntl_dupfd_cloexec,
    mount::{MountPropagationFlags, mount_change},
    process::{setsid, umask},
    thread::{UnshareFlags, set_no_new_privs},
};

use crate::{
    capabilities,
    failure::Step,
    limits,
    line::{self, Word},
    mounts::{
        attach, find,
        furniture::{self, Nodes},
        kernel,
    },
    network,
    seccomp::Filters,
    standby::Power,
    syscalls::{self, Children},
};

/// Where the guest finds its listening socket.
const LISTENER: i32 = 3;

/// Our own descriptors stand above those that the guest inherits.
const OURS: i32 = 16;

/// What a first process is born with.
#[derive(Debug)]
pub(crate) struct Newcomer<'a> {
    pub(crate) power: Power,
    pub(crate) guest: &'a OwnedFd,
    pub(crate) furniture: Option<OwnedFd>,
    pub(crate) filters: &'a Filters,
}

/// What a prepared first process holds.
#[derive(Debug)]
struct Prepared<'a> {
    line: &'a OwnedFd,
    guest: OwnedFd,
    /// The attached furniture.
    stage: OwnedFd,
    /// The attached and masked `/proc`.
    processes: OwnedFd,
    filters: &'a Filters,
}

/// Lives the whole life of a first process.
pub(crate) fn live(line: OwnedFd, newcomer: Newcomer<'_>) -> ! {
    let Ok(line) = fcntl_dupfd_cloexec(line, OURS) else { syscalls::leave(1) };
    // The launcher may already be gone when we complain; then nobody need hear it.
    let complain = |failure| line::say(&line, &Word::Failed(failure));
    let prepared = match prepare(newcomer, &line) {
        Ok(prepared) => prepared,
        Err(failure) => {
            let _heard = complain(failure);
            syscalls::leave(1)
        }
    };
    match become_guest(&prepared) {
        Ok(None) => syscalls::leave(0),
        Err(failure) => {
            let _heard = complain(failure);
            syscalls::leave(1)
        }
    }
}

/// Does what is the same for every sandbox.
fn prepare<'a>(newcomer: Newcomer<'a>, line: &'a OwnedFd) -> Result<Prepared<'a>, Failure> {
    let Newcomer { power, guest, furniture, filters } = newcomer;
    let step = "leave the launcher behind";
    syscalls::children(Children::Awaited);
    umask(Mode::from_raw_mode(0o022));
    // What is typed at the server's terminal does not reach its sandboxes.
    setsid().step(step)?;
    let guest = fcntl_dupfd_cloexec(guest, OURS).step(step)?;
    let furniture = furniture.map(|tree| fcntl_dupfd_cloexec(tree, OURS)).transpose().step(step)?;
    silence().step(step)?;
    let mut keep = vec![0, 1, 2, line.as_raw_fd(), guest.as_raw_fd()];
    keep.extend(furniture.as_ref().map(AsRawFd::as_raw_fd));
    syscalls::close_all_but(&mut keep).step(step)?;
    match power {
        // Known only with the plan. Until then, the launcher makes files for us.
        Power::Root => {}
        // Before it has ids, a process is nobody, and can make no files.
        Power::Ordinary => line::await_nod(line).step(step)?,
    }
    set_no_new_privs(true).step("set no_new_privs")?;
    limits::set_common()?;
    network::isolate()?;
    forbid_namespaces();
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).step("leave the host's mounts")?;
    let (stage, processes) = stage(power, furniture)?;
    capabilities::bound(match power {
        Power::Root => capabilities::kept(Users::Range { base: 0 }),
        Power::Ordinary => capabilities::kept(Users::Single),
    })?;
    Ok(Prepared { line, guest, stage, processes, filters })
}

/// Sets up what later moves into the sandbox's root: the furniture, and a masked `/proc`.
fn stage(power: Power, furniture: Option<OwnedFd>) -> Result<(OwnedFd, OwnedFd), Failure> {
    let step = "set the stage";
    let place = |path: &str| open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).step(step);
    let stage = if let Some(stage) = furniture {
        attach(&stage, place("/dev")?).step(step)?;
        stage
    } else {
        let stage = furniture::make(Nodes::OfTheHost)?;
        // Not over `/dev`: the nodes come from there.
        attach(&stage, place("/sys")?).step(step)?;
        furniture::lend_nodes(stage.as_fd())?;
        stage
    };
    let processes = kernel::processes()?;
    attach(&processes, find(stage.as_fd(), "proc").step(step)?).step(step)?;
    kernel::mask(processes.as_fd(), stage.as_fd())?;
    match power {
        // The launcher opens all that is needed of the host. We leave it now, and wait on the stage.
        Power::Root => enter::change_root(&stage)?,
        // We ourselves must find layers and binds, and leave when we have them.
        Power::Ordinary => {}
    }
    Ok((stage, processes))
}

/// A second wall beside seccomp: no user namespace can be made below ours. Kernels without the file have no such wall.
fn forbid_namespaces() {
    let _absent = std::fs::write("/proc/sys/user/max_user_namespaces", "0");
}

/// Waits for the plan, builds the walls and becomes the guest. `None` when the launcher has gone.
fn become_guest(prepared: &Prepared<'_>) -> Result<Option<Infallible>, Failure> {
    let Some(launch) = line::receive_plan(prepared.line).step("read the plan")? else {
        return Ok(None);
    };
    let devices = enter::take_place(prepared, &launch)?;
    let mut descriptors =
        launcher::descriptors::receive(prepared.line).step("read the plan")?.into_iter();
    let Some(listener) = descriptors.next() else { return Ok(None) };
    enter::enter(prepared, &devices, &launch, descriptors)?;
    line::await_nod(prepared.line).step("join the control groups")?;
    // They are the roots that we see.
    syscalls::unshare(UnshareFlags::NEWCGROUP).step("make the control group namespace")?;
    lock::lock(prepared, &launch, &listener).map(Some)
}

/// Puts `/dev/null` at the three standard numbers.
fn silence() -> io::Result<()> {
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let null = fcntl_dupfd_cloexec(null, OURS)?;
    (0..LISTENER).try_for_each(|number| syscalls::place(&null, number))
}
