//! System calls without the C library, for code that runs on borrowed memory.
//!
//! A supervisor and a program that is about to be executed share the guest's memory, and with it `errno`. What
//! they call must not touch it; these calls return the error instead.

use std::{arch::asm, ffi::c_int};

use rustix::io::Errno;

/// Calls the kernel.
///
/// # Safety
/// As for the system call itself: pointers must be good for what the kernel does with them.
#[expect(unsafe_code, reason = "a system call")]
pub(crate) unsafe fn call(number: libc::c_long, arguments: [usize; 4]) -> Result<usize, Errno> {
    let [a, b, c, d] = arguments;
    let result: libc::c_long;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel keeps all registers but these; the caller answers for the arguments.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel keeps all registers but `x0`; the caller answers for the arguments.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d,
            options(nostack)
        );
    }
    match usize::try_from(result) {
        Ok(value) => Ok(value),
        Err(_negative) => {
            Err(Errno::from_raw_os_error(c_int::try_from(-result).unwrap_or(libc::EIO)))
        }
    }
}

/// Closes every descriptor from `first` on.
#[expect(unsafe_code, reason = "a system call")]
pub(crate) fn close_from(first: u32) -> Result<(), Errno> {
    // Not the largest number that the call could take: an imitation of the kernel refuses that.
    let last = usize::try_from(i32::MAX).unwrap_or(usize::MAX);
    // SAFETY: no pointers. Who calls this owns nothing that it would close twice: it is about to execute or to exit.
    unsafe { call(libc::SYS_close_range, [first as usize, last, 0, 0]) }.map(|_zero| ())
}

/// Lets all signals in.
#[expect(unsafe_code, reason = "a system call")]
pub(crate) fn unblock_signals() -> Result<(), Errno> {
    let none: u64 = 0;
    let set = std::ptr::from_ref(&none) as usize;
    let how = usize::try_from(libc::SIG_SETMASK).unwrap_or_default();
    // SAFETY: `set` points to a mask of eight bytes that lives until the call returns.
    unsafe { call(libc::SYS_rt_sigprocmask, [how, set, 0, size_of::<u64>()]) }.map(|_zero| ())
}

/// Every signal does what it does by default, also those that the C library keeps for itself.
#[expect(unsafe_code, reason = "a system call")]
pub(crate) fn reset_signals() {
    // Handler, flags, restorer and mask: all zeros is the default.
    let default = [0_u64; 4];
    let action = default.as_ptr() as usize;
    for signal in 1..=64 {
        // SAFETY: `action` is as large as the kernel's structure. Two signals refuse, and are the default anyway.
        let _fixed = unsafe { call(libc::SYS_rt_sigaction, [signal, action, 0, size_of::<u64>()]) };
    }
}

/// Ends this process, and only this.
#[expect(unsafe_code, reason = "a system call")]
pub(crate) fn exit(code: u8) -> ! {
    loop {
        // SAFETY: no pointers; does not return.
        let _never = unsafe { call(libc::SYS_exit_group, [usize::from(code), 0, 0, 0]) };
    }
}
