//! The calls that no safe wrapper covers, all in one place.
//!
//! The launcher has one thread. Each block says what must hold for it; nothing outside this file is unsafe.

use std::{
    ffi::{CStr, c_int, c_long},
    io, mem,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

use rustix::{
    process::Pid,
    thread::{UnshareFlags, unshare_unsafe},
};

/// Which side of a clone this is.
#[derive(Debug)]
pub(crate) enum Side {
    Parent { pid: Pid, handle: OwnedFd },
    Child,
}

/// Makes a child that is a copy of this process, in new namespaces.
#[expect(unsafe_code, reason = "no wrapper of clone3 gives new namespaces and a pidfd")]
pub(crate) fn clone_into(namespaces: u64) -> io::Result<Side> {
    let mut handle: RawFd = -1;
    // SAFETY: all-zero is a valid `clone_args`: no stack, no thread-local storage, no set_tid.
    let mut arguments: libc::clone_args = unsafe { mem::zeroed() };
    arguments.flags = namespaces | u64::try_from(libc::CLONE_PIDFD).unwrap_or_default();
    arguments.pidfd = (&raw mut handle).addr() as u64;
    arguments.exit_signal = u64::try_from(libc::SIGCHLD).unwrap_or_default();
    // SAFETY: without CLONE_VM the child gets its own copy of all memory, as by fork; this process has one thread, so
    // that no lock is held by a thread that the child lacks. `handle` outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of_val(&arguments)) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        raw => {
            let pid = i32::try_from(raw).ok().and_then(Pid::from_raw);
            let pid = pid.ok_or_else(|| io::Error::other("a pid out of range"))?;
            // SAFETY: the call succeeded with CLONE_PIDFD, so the kernel has stored a new descriptor that is ours.
            let handle = unsafe { OwnedFd::from_raw_fd(handle) };
            Ok(Side::Parent { pid, handle })
        }
    }
}

/// Moves this process into new namespaces.
#[expect(unsafe_code, reason = "unshare is unsafe for the sake of CLONE_FILES")]
pub(crate) fn unshare(namespaces: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: this process has one thread, so no thread can miss descriptors, whatever is unshared.
    unsafe { unshare_unsafe(namespaces) }
}

/// What `mount_setattr` is to change.
#[derive(Debug, Default)]
pub(crate) struct MountAttributes<'a> {
    pub(crate) set: u64,
    pub(crate) idmap: Option<BorrowedFd<'a>>,
    pub(crate) recursive: bool,
}

/// Changes the attributes of the mount at `tree`.
#[expect(unsafe_code, reason = "no wrapper of mount_setattr exists")]
pub(crate) fn mount_setattr(tree: BorrowedFd<'_>, change: &MountAttributes<'_>) -> io::Result<()> {
    let mut attributes =
        libc::mount_attr { attr_set: change.set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    if let Some(users) = change.idmap {
        attributes.attr_set |= libc::MOUNT_ATTR_IDMAP;
        attributes.userns_fd = u64::try_from(users.as_raw_fd()).unwrap_or_default();
    }
    let recursive = if change.recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a constant C string, and `attributes` outlives the call, which only reads it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw mut attributes,
            size_of_val(&attributes),
        )
    };
    done(result)
}

/// Puts a seccomp filter over this process, for good.
#[expect(unsafe_code, reason = "no wrapper of seccomp takes a finished program")]
pub(crate) fn filter_calls(program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: `program` points to `length` instructions that outlive the call; the kernel checks and copies them.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    };
    done(result)
}

/// Becomes another program. Comes back only with an error.
#[expect(unsafe_code, reason = "exec with an environment that is not ours")]
pub(crate) fn execute(path: &CStr, argv: &[&CStr]) -> io::Error {
    let argv: Vec<_> = argv.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect();
    let environment = [ptr::null()];
    // SAFETY: both lists end with a null pointer, and hold C strings that outlive the call.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends this process at once, without running what a copy of the parent would run at its end.
#[expect(unsafe_code, reason = "a cloned child must not run the parent's exit handlers")]
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: `_exit` only ends the process.
    unsafe { libc::_exit(code) }
}

/// What becomes of children that end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Children {
    /// The kernel buries them; nobody need wait.
    Forgotten,
    Awaited,
}

/// Sets what becomes of children. When they are awaited, every signal has its first meaning again, as a new program
/// expects.
#[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
pub(crate) fn children(fate: Children) {
    match fate {
        // SAFETY: the disposition runs no code of ours.
        Children::Forgotten => unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        },
        Children::Awaited => {
            for signal in 1..libc::SIGSYS {
                // SAFETY: as above. That two signals cannot be set is no loss.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
        }
    }
}

/// Takes over a descriptor that this process was started with.
#[expect(
    unsafe_code,
    reason = "a number in the arguments is all that names an inherited descriptor"
)]
pub(crate) fn inherit(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `fcntl(F_GETFD)` touches no memory; it fails when the descriptor is not open.
    done(c_long::from(unsafe { libc::fcntl(number, libc::F_GETFD) }))?;
    // SAFETY: it is open, and nothing else in this process owns it: `main` asks once for each number.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Puts `from` at a fixed number, open over an exec.
#[expect(unsafe_code, reason = "a fixed number is not an owned descriptor")]
pub(crate) fn place(from: &OwnedFd, number: RawFd) -> io::Result<()> {
    if from.as_raw_fd() == number {
        // SAFETY: clears the close-on-exec flag of a descriptor that is open.
        return done(c_long::from(unsafe { libc::fcntl(number, libc::F_SETFD, 0) }));
    }
    // SAFETY: `number` is one that no owned descriptor of this process has, as the caller promises by its layout of
    // descriptors; whatever else stood there is closed.
    done(c_long::from(unsafe { libc::dup2(from.as_raw_fd(), number) }))
}

/// Closes all descriptors but those named: this copy of the parent must not keep them.
pub(crate) fn close_all_but(keep: &mut [RawFd]) -> io::Result<()> {
    keep.sort_unstable();
    let mut from: c_int = 0;
    for &mut kept in keep {
        if kept > from {
            close_range(from, kept - 1)?;
        }
        from = kept + 1;
    }
    close_range(from, c_int::MAX)
}

#[expect(unsafe_code, reason = "closes descriptors by number")]
fn close_range(first: c_int, last: c_int) -> io::Result<()> {
    // SAFETY: the child never returns to code that owns the descriptors which are closed here.
    done(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) })
}

/// Turns a network device on.
#[expect(unsafe_code, reason = "the ioctl has no wrapper")]
pub(crate) fn raise_device(socket: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    // SAFETY: all-zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name).take(libc::IFNAMSIZ - 1) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP).unwrap_or_default();
    // SAFETY: SIOCSIFFLAGS reads an `ifreq`, which outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    done(c_long::from(result))
}

fn done(result: c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
