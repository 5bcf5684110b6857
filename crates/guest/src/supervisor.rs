//! Starting a program below a supervisor, so that nothing that it starts can get away.
//!
//! ```text
//!   guest (pid 1) ──clone──▶ supervisor ──vfork──▶ program ──▶ its children, and theirs
//!                              ▲  adopts whatever loses its parent, however often it forked
//! ```
//!
//! The supervisor shares the guest's memory and descriptors, which makes it almost free: no page is copied, and it
//! reports by writing into a [`Slot`] and waking the guest. It waits for the program, reaps what it adopts, and
//! ends when the program has ended; then what is left of the program's children goes to the guest and lives on.
//! When [`Slot::linger`] is asked for, it ends only when nothing is left.
//!
//! Both processes run on small stacks of their own, allocate nothing, and call the kernel without `errno`.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd},
    ptr::{self, NonNull},
    rc::Rc,
    sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering},
};

use guest::protocol::Usage;
use rustix::{
    io::Errno,
    mm::{MapFlags, ProtFlags, mmap_anonymous, munmap},
    process::{Pid, chdir, getpid, ioctl_tiocsctty, set_child_subreaper, setsid},
};

use crate::{identity::Identity, raw};

/// What to execute, in the shape that the kernel takes.
#[derive(Debug)]
pub(crate) struct Image {
    /// Tried one after the other.
    pub(crate) candidates: Vec<CString>,
    pub(crate) argv: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: CString,
    pub(crate) identity: Identity,
    /// Becomes standard input, output and error.
    pub(crate) stdio: [RawFd; 3],
    pub(crate) terminal: bool,
}

/// How far the program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    Starting,
    Refused {
        step: Step,
        errno: i32,
    },
    Running {
        program: Pid,
    },
    /// `status` is as `wait` gives it.
    Ended {
        status: i32,
        usage: Usage,
    },
}

/// What did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Fork,
    Prepare,
    Become,
    Directory,
    Program,
}

const STARTING: u32 = 0;
const REFUSED: u32 = 1;
const RUNNING: u32 = 2;
const ENDED: u32 = 3;

/// What the guest, the supervisor and, until it is executed, the program have in common.
#[derive(Debug)]
pub(crate) struct Slot {
    image: Image,
    argv: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    /// Written to when there is news.
    wake: RawFd,
    stack: Stack,
    phase: AtomicU32,
    step: AtomicU32,
    errno: AtomicI32,
    program: AtomicI32,
    status: AtomicI32,
    user_micros: AtomicU64,
    system_micros: AtomicU64,
    peak_kib: AtomicU64,
    linger: AtomicU32,
}

/// Starts a program. The slot tells how far it is; it must live until the supervisor was reaped.
#[expect(unsafe_code, reason = "clone is how a process is made that shares memory")]
/// With `lingers`, it waits from the beginning for all that the program may leave behind.
pub(crate) fn launch(
    image: Image,
    wake: &OwnedFd,
    lingers: bool,
) -> Result<(Pid, Rc<Slot>), Errno> {
    let pointers = |strings: &[CString]| {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
    };
    let slot = Rc::new(Slot {
        argv: pointers(&image.argv),
        environment: pointers(&image.environment),
        image,
        wake: wake.as_raw_fd(),
        stack: Stack::new()?,
        phase: AtomicU32::new(STARTING),
        step: AtomicU32::new(0),
        errno: AtomicI32::new(0),
        program: AtomicI32::new(0),
        status: AtomicI32::new(0),
        user_micros: AtomicU64::new(0),
        system_micros: AtomicU64::new(0),
        peak_kib: AtomicU64::new(0),
        linger: AtomicU32::new(u32::from(lingers)),
    });
    let flags = libc::CLONE_VM | libc::CLONE_FILES | libc::SIGCHLD;
    let shared = Rc::as_ptr(&slot).cast_mut().cast::<c_void>();
    // SAFETY: the stack is mapped, used by nobody else, and lives as long as the slot. The caller keeps the slot until
    // the supervisor is reaped. The supervisor only reads the slot, but for atomics, and never touches `Rc`'s count.
    let pid = unsafe { libc::clone(supervise, slot.stack.upper(), flags, shared) };
    let pid = Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(last_errno)?;
    Ok((pid, slot))
}

impl Slot {
    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    pub(crate) fn report(&self) -> Report {
        match self.phase.load(Ordering::Acquire) {
            REFUSED => Report::Refused {
                step: match self.step.load(Ordering::Relaxed) {
                    0 => Step::Fork,
                    1 => Step::Prepare,
                    2 => Step::Become,
                    3 => Step::Directory,
                    _program => Step::Program,
                },
                errno: self.errno.load(Ordering::Relaxed),
            },
            RUNNING => match Pid::from_raw(self.program.load(Ordering::Relaxed)) {
                Some(program) => Report::Running { program },
                None => Report::Starting,
            },
            ENDED => Report::Ended {
                status: self.status.load(Ordering::Relaxed),
                usage: Usage {
                    user_micros: self.user_micros.load(Ordering::Relaxed),
                    system_micros: self.system_micros.load(Ordering::Relaxed),
                    peak_kib: self.peak_kib.load(Ordering::Relaxed),
                },
            },
            _starting => Report::Starting,
        }
    }

    /// Asks the supervisor to stay until nothing is left below it.
    pub(crate) fn linger(&self) {
        self.linger.store(1, Ordering::SeqCst);
    }

    pub(crate) fn lingers(&self) -> bool {
        self.linger.load(Ordering::SeqCst) != 0
    }

    fn refuse(&self, step: Step, errno: Errno) {
        let step = match step {
            Step::Fork => 0,
            Step::Prepare => 1,
            Step::Become => 2,
            Step::Directory => 3,
            Step::Program => 4,
        };
        self.step.store(step, Ordering::Relaxed);
        self.errno.store(errno.raw_os_error(), Ordering::Relaxed);
        self.phase.store(REFUSED, Ordering::Release);
    }

    #[expect(unsafe_code, reason = "a descriptor that is known to be open")]
    fn wake(&self) {
        // SAFETY: the guest never closes the descriptor that it is woken by.
        let wake = unsafe { BorrowedFd::borrow_raw(self.wake) };
        // It can only fail when the counter is full, and then the guest is awake.
        let _full = rustix::io::write(wake, &1_u64.to_ne_bytes());
    }
}

#[expect(unsafe_code, reason = "runs on memory that it shares with the guest")]
extern "C" fn supervise(shared: *mut c_void) -> c_int {
    // SAFETY: `launch` gives a slot that lives until this process is reaped.
    let slot = unsafe { &*shared.cast_const().cast::<Slot>() };
    // Without this, children could get away. It cannot fail.
    let _always = set_child_subreaper(Some(getpid()));
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the lower half of the stack is used by nobody else; this process sleeps until the program is executed or
    // has ended, so that the slot stays as it is.
    let program = unsafe { libc::clone(become_program, slot.stack.lower(), flags, shared) };
    if program < 0 {
        slot.refuse(Step::Fork, last_errno());
        slot.wake();
        return 0;
    }
    let refused = slot.phase.load(Ordering::Acquire) == REFUSED;
    if !refused {
        slot.program.store(program, Ordering::Relaxed);
        slot.phase.store(RUNNING, Ordering::Release);
        slot.wake();
    }
    while let Some((pid, status, used)) = wait() {
        if pid != program {
            continue;
        }
        if !refused {
            slot.status.store(status, Ordering::Relaxed);
            slot.user_micros.store(micros(used.ru_utime), Ordering::Relaxed);
            slot.system_micros.store(micros(used.ru_stime), Ordering::Relaxed);
            slot.peak_kib
                .store(u64::try_from(used.ru_maxrss).unwrap_or_default(), Ordering::Relaxed);
            slot.phase.store(ENDED, Ordering::Release);
        }
        slot.wake();
        if !slot.lingers() {
            break;
        }
    }
    0
}

/// Waits for any child. `None`: there is none.
#[expect(unsafe_code, reason = "a system call")]
fn wait() -> Option<(c_int, c_int, libc::rusage)> {
    let mut status: c_int = 0;
    // SAFETY: numbers only; all zeros is a value of it.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    let (any, status_at) = (usize::MAX, ptr::from_mut(&mut status) as usize);
    let used_at = ptr::from_mut(&mut used) as usize;
    loop {
        // SAFETY: both pointers are good until the call returns.
        match unsafe { raw::call(libc::SYS_wait4, [any, status_at, 0, used_at]) } {
            Ok(pid) => return Some((c_int::try_from(pid).unwrap_or_default(), status, used)),
            Err(Errno::INTR) => {}
            Err(_no_child) => return None,
        }
    }
}

#[expect(unsafe_code, reason = "runs on memory that it shares with the guest")]
extern "C" fn become_program(shared: *mut c_void) -> c_int {
    // SAFETY: the supervisor sleeps while this runs, and the slot outlives it.
    let slot = unsafe { &*shared.cast_const().cast::<Slot>() };
    let (step, errno) = execute(slot);
    slot.refuse(step, errno);
    raw::exit(127)
}

/// Returns only if it did not work.
#[expect(unsafe_code, reason = "execve, and descriptors by number")]
fn execute(slot: &Slot) -> (Step, Errno) {
    let image = &slot.image;
    if let Err(errno) = prepare(image) {
        return (Step::Prepare, errno);
    }
    if let Err(errno) = image.identity.assume() {
        return (Step::Become, errno);
    }
    if let Err(errno) = chdir(image.directory.as_c_str()) {
        return (Step::Directory, errno);
    }
    if let Err(errno) = raw::unblock_signals() {
        return (Step::Prepare, errno);
    }
    let (argv, environment) = (slot.argv.as_ptr() as usize, slot.environment.as_ptr() as usize);
    let mut last = Errno::NOENT;
    for candidate in &image.candidates {
        // SAFETY: strings that end with a zero, and lists of them that end with a null pointer.
        let outcome = unsafe {
            raw::call(libc::SYS_execve, [candidate.as_ptr() as usize, argv, environment, 0])
        };
        match outcome {
            // What cannot be executed is the better reason, if another place has no such file.
            Err(Errno::NOENT | Errno::NOTDIR) | Ok(_) => {}
            Err(Errno::ACCESS) => last = Errno::ACCESS,
            Err(errno) => return (Step::Program, errno),
        }
    }
    (Step::Program, last)
}

#[expect(unsafe_code, reason = "descriptors by number")]
fn prepare(image: &Image) -> Result<(), Errno> {
    setsid()?;
    for (target, source) in (0..).zip(image.stdio) {
        // SAFETY: no pointers; the guest keeps the sources open until the program has started.
        unsafe {
            raw::call(libc::SYS_dup3, [usize::try_from(source).unwrap_or(usize::MAX), target, 0, 0])
        }?;
    }
    raw::close_from(3)?;
    if image.terminal {
        // SAFETY: descriptor 0 was made three lines above.
        ioctl_tiocsctty(unsafe { BorrowedFd::borrow_raw(0) })?;
    }
    Ok(())
}

fn micros(time: libc::timeval) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds
        .saturating_mul(1_000_000)
        .saturating_add(u64::try_from(time.tv_usec).unwrap_or_default())
}

fn last_errno() -> Errno {
    let errno = std::io::Error::last_os_error().raw_os_error();
    Errno::from_raw_os_error(errno.unwrap_or(libc::EAGAIN))
}

/// Two small stacks: the upper for the supervisor, the lower for the program until it is executed.
#[derive(Debug)]
struct Stack {
    base: NonNull<c_void>,
}

impl Stack {
    /// Of each of the two. Only the pages that are touched exist.
    const SIZE: usize = 64 * 1024;

    #[expect(unsafe_code, reason = "memory that is not on the heap")]
    fn new() -> Result<Self, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
        // SAFETY: a new mapping, wherever there is room.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), 2 * Self::SIZE, protection, flags) }?;
        Ok(Self { base: NonNull::new(base).ok_or(Errno::NOMEM)? })
    }

    #[expect(unsafe_code, reason = "arithmetic with pointers")]
    fn lower(&self) -> *mut c_void {
        // SAFETY: within the mapping.
        unsafe { self.base.as_ptr().byte_add(Self::SIZE) }
    }

    #[expect(unsafe_code, reason = "arithmetic with pointers")]
    fn upper(&self) -> *mut c_void {
        // SAFETY: the end of the mapping.
        unsafe { self.base.as_ptr().byte_add(2 * Self::SIZE) }
    }
}

impl Drop for Stack {
    #[expect(unsafe_code, reason = "memory that is not on the heap")]
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and dropped with the slot: nobody runs on it any more.
        let _kept = unsafe { munmap(self.base.as_ptr(), 2 * Self::SIZE) };
    }
}
