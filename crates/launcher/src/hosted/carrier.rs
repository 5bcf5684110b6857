//! The first process of the box that a runtime runs in.
//!
//! It moves into the box, starts the runtime there, and then only carries frames. Everything that it and the runtime
//! write down lies on a stage in memory that nobody else sees.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    process::{Command, Stdio},
};

use launcher::plan::{Failure, Hosted, STAGE, Strictness};
use rustix::{
    event::Timespec,
    fs::{Mode, OFlags, open},
    pipe::{PipeFlags, pipe_with},
    process::{Gid, Uid, setsid, umask},
    thread::{
        CapabilitySet, UnshareFlags, set_no_new_privs, set_thread_groups, set_thread_res_gid,
        set_thread_res_uid,
    },
};

use super::{
    home::Home,
    relay::{Over, Relay},
};
use crate::{
    capabilities,
    failure::{Step, refused},
    limits,
    line::{self, Word},
    mounts::{attach, binds, find_or_make, sealed},
    network,
    seccomp::Filters,
    syscalls::{self, Children},
};

/// A little less than the launcher's, so that it is us who tells what happened.
const PATIENCE: Timespec = Timespec { tv_sec: 25, tv_nsec: 0 };

/// How much of a runtime's complaint is told.
const COMPLAINT: usize = 1_000;

/// What the carrier is born with.
#[derive(Debug)]
pub(super) struct Newcomer<'a> {
    pub(super) hosted: &'a Hosted,
    pub(super) guest: OwnedFd,
    pub(super) listener: OwnedFd,
    pub(super) home: Home,
    pub(super) root: OwnedFd,
    pub(super) binds: Vec<OwnedFd>,
    pub(super) filters: Filters,
}

/// Lives the whole life of a carrier.
pub(super) fn live(line: &OwnedFd, newcomer: Newcomer<'_>) -> ! {
    match keep(line, newcomer) {
        Ok(Over) => syscalls::leave(0),
        Err(failure) => {
            // The launcher may already be gone; then nobody need hear it.
            let _heard = line::say(line, &Word::Failed(failure));
            syscalls::leave(1)
        }
    }
}

fn keep(line: &OwnedFd, newcomer: Newcomer<'_>) -> Result<Over, Failure> {
    let Newcomer { hosted, guest, listener, home, root, binds, filters } = newcomer;
    let step = "leave the launcher behind";
    syscalls::children(Children::Awaited);
    umask(Mode::from_raw_mode(0o022));
    setsid().step(step)?;
    let mut keep =
        vec![line.as_raw_fd(), guest.as_raw_fd(), listener.as_raw_fd(), root.as_raw_fd()];
    keep.extend(binds.iter().chain(home.descriptors()).map(AsRawFd::as_raw_fd));
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).step(step)?;
    (0..=2).try_for_each(|number| syscalls::place(&null, number)).step(step)?;
    keep.extend([0, 1, 2]);
    // With all others, it closes this one by its number.
    syscalls::close_all_but(&mut keep).step(step)?;
    std::mem::forget(null);
    line::await_nod(line).step(step)?;
    take_ids()?;
    set_no_new_privs(true).step("set no_new_privs")?;
    limits::set_common()?;
    network::isolate()?;
    syscalls::unshare(UnshareFlags::NEWCGROUP).step("make the control group namespace")?;
    home.move_in()?;
    set_stage(hosted, &guest, &root, &binds)?;
    drop((home, guest, root, binds));
    let (to_guest, from_guest) = start(hosted)?;
    capabilities::keep(CapabilitySet::empty())?;
    syscalls::filter_calls(filters.of(Strictness::Allowlist)).step("filter system calls")?;
    // From now on every child that comes to us is an orphan.
    syscalls::children(Children::Forgotten);
    let limit = usize::try_from(hosted.frame_limit).unwrap_or(usize::MAX);
    let step = "start the runtime";
    let mut relay = Relay::new(listener, to_guest, from_guest, limit).step(step)?;
    relay.greet(&hosted.greeting, &PATIENCE).map_err(|Over| refused(step, complaint()))?;
    line::say(line, &Word::Ready).step(step)?;
    Ok(relay.run())
}

fn take_ids() -> Result<(), Failure> {
    let step = "take the ids";
    set_thread_groups(&[]).step(step)?;
    set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT).step(step)?;
    set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT).step(step)
}

/// Sets the stage, with the root of the sandbox on it.
fn set_stage(
    hosted: &Hosted,
    guest: &OwnedFd,
    root: &OwnedFd,
    binds: &[OwnedFd],
) -> Result<(), Failure> {
    let step = "set the stage";
    for directory in ["rootfs", "state", "guest"] {
        let path = format!("{STAGE}/{directory}");
        fs::create_dir(&path).step_on(step, &path)?;
    }
    write_guest(guest).step_on(step, "the guest")?;
    let path = format!("{STAGE}/config.json");
    fs::write(&path, &hosted.config).step_on(step, &path)?;
    let place = open(format!("{STAGE}/rootfs"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    attach(root, place.step(step)?).step("attach the root")?;
    for (name, mode) in [("proc", 0o755), ("dev", 0o755), ("sys", 0o755), ("tmp", 0o1777)] {
        find_or_make(root.as_fd(), name, mode).step_on("furnish the root", name)?;
    }
    for (bind, tree) in hosted.launch.binds.iter().zip(binds) {
        binds::place(root.as_fd(), bind, tree)?;
    }
    // By the kernel's own mount, and not by the runtime's word: whatever the runtime believes, the host refuses.
    hosted.launch.sealed.iter().try_for_each(|path| sealed::seal(root.as_fd(), path))
}

/// Runtimes want a file.
fn write_guest(guest: &OwnedFd) -> io::Result<()> {
    let path = format!("{STAGE}/guest/lamp-guest");
    let mut program = File::open(format!("/proc/self/fd/{}", guest.as_raw_fd()))?;
    io::copy(&mut program, &mut File::create_new(&path)?)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o555))
}

/// Starts the runtime, and gives what the guest reads and what it writes.
fn start(hosted: &Hosted) -> Result<(OwnedFd, OwnedFd), Failure> {
    let step = "start the runtime";
    let (input, to_guest) = pipe_with(PipeFlags::CLOEXEC).step(step)?;
    let (from_guest, output) = pipe_with(PipeFlags::CLOEXEC).step(step)?;
    let errors = File::create(format!("{STAGE}/errors")).step(step)?;
    // It ends with us, and is buried with us.
    let _runtime = Command::new(&hosted.runtime)
        .args(&hosted.arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(errors))
        .spawn()
        .step_on(step, &hosted.runtime)?;
    Ok((to_guest, from_guest))
}

/// The end of what the runtime complained about.
fn complaint() -> String {
    let mut text = Vec::new();
    let read =
        File::open(format!("{STAGE}/errors")).and_then(|mut file| file.read_to_end(&mut text));
    let end = text.len().saturating_sub(COMPLAINT);
    let text = String::from_utf8_lossy(text.get(end..).unwrap_or_default()).trim().to_owned();
    match read {
        Ok(_) if !text.is_empty() => text,
        Ok(_) | Err(_) => "the guest does not answer, and the runtime does not say why".to_owned(),
    }
}
