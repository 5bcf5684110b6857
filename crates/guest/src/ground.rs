//! Making the process what it has to be, before anything else runs.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::{
    event::{EventfdFlags, eventfd},
    fs::{Mode, OFlags, open},
    io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    process::{
        DumpableBehavior, Resource, Rlimit, chdir, child_subreaper, getpid, set_child_subreaper,
        set_dumpable_behavior, setrlimit, umask,
    },
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout},
    thread::set_no_new_privs,
};

use crate::{
    arguments::{Arguments, Line},
    program::unblock,
    raw,
};

/// Where the launcher puts the listening socket.
const LISTENER: RawFd = 3;

/// Where processes go that lose their parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orphans {
    GoToSupervisors,
    /// An imitation of the kernel that takes the setting and ignores it.
    ComeToTheGuest,
}

/// What the loop listens to.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) line: Source,
    /// Readable when a child has died.
    pub(crate) signals: OwnedFd,
    /// Readable when a supervisor has news.
    pub(crate) wake: OwnedFd,
    pub(crate) orphans: Orphans,
}

#[derive(Debug)]
pub(crate) enum Source {
    Listener(OwnedFd),
    Stdio { input: OwnedFd, output: OwnedFd },
}

pub(crate) fn prepare(arguments: &Arguments) -> Result<Ground, Errno> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_no_new_privs(true)?;
    // Orphans come to the first process of a sandbox anyway; this asks whether they can come to others.
    let orphans = match set_child_subreaper(Some(getpid())).and_then(|()| child_subreaper()) {
        Ok(Some(_)) => Orphans::GoToSupervisors,
        Ok(None) | Err(_) => Orphans::ComeToTheGuest,
    };
    // 1 is the kernel's word for "nowhere"; with 0, a host that pipes core dumps to a program would run it.
    setrlimit(Resource::Core, Rlimit { current: Some(1), maximum: Some(1) })?;
    umask(Mode::from_raw_mode(0o022));
    chdir("/")?;
    keep_memory_small();
    let line = match arguments.line {
        Line::Listener => Source::Listener(listener()?),
        Line::Stdio => {
            let (input, output) =
                (fcntl_dupfd_cloexec(stdin(), LISTENER)?, fcntl_dupfd_cloexec(stdout(), LISTENER)?);
            unblock(&input)?;
            unblock(&output)?;
            Source::Stdio { input, output }
        }
    };
    occupy_stdio(arguments.line)?;
    Ok(Ground {
        line,
        signals: only_childrens_signals()?,
        orphans,
        wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
    })
}

#[expect(unsafe_code, reason = "a descriptor that comes from outside")]
fn listener() -> Result<OwnedFd, Errno> {
    // SAFETY: the launcher hands it over; nothing else in this process knows of it. If it is not there, the next call
    // says so, and closing it again does no harm.
    let listener = unsafe { OwnedFd::from_raw_fd(LISTENER) };
    fcntl_setfd(&listener, FdFlags::CLOEXEC)?;
    unblock(&listener)?;
    Ok(listener)
}

/// Descriptors 0 to 2 are taken for good, so that no pipe ever becomes one of them.
fn occupy_stdio(line: Line) -> Result<(), Errno> {
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let null = null.or_else(|_no_dev| eventfd(0, EventfdFlags::CLOEXEC))?;
    let closed = |fd| rustix::io::fcntl_getfd(fd).is_err();
    if line == Line::Stdio || closed(stdin()) {
        dup2_stdin(&null)?;
    }
    if line == Line::Stdio || closed(stdout()) {
        dup2_stdout(&null)?;
    }
    if closed(stderr()) {
        dup2_stderr(&null)?;
    }
    Ok(())
}

/// Gives large pieces of memory back to the kernel at once, instead of learning to keep them.
#[expect(unsafe_code, reason = "a setting of the C library")]
fn keep_memory_small() {
    // SAFETY: changes numbers in the allocator, before any other thread exists: there is none.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 64 * 1024);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 64 * 1024);
    }
}

/// Every signal is as the kernel made it, and blocked; the death of children can be read.
#[expect(unsafe_code, reason = "signal masks are only in the C library")]
fn only_childrens_signals() -> Result<OwnedFd, Errno> {
    raw::reset_signals();
    // SAFETY: the sets are initialised before they are used, and no signal has a handler of ours.
    let signals = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    if signals < 0 {
        return Err(Errno::from_raw_os_error(
            std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        ));
    }
    // SAFETY: made above, and known to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(signals) })
}
