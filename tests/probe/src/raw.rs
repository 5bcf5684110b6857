//! System calls by number, as an attacker makes them.

use std::{ffi::CStr, io};

/// What a call is given.
#[derive(Debug)]
pub(crate) enum Given<'a> {
    Number(i64),
    Text(&'a CStr),
    Bytes(&'a mut [u8]),
}

pub(crate) const NOTHING: Given<'static> = Given::Number(0);

/// The directory that a process is in, as calls are given it.
pub(crate) const HERE: Given<'static> = Given::Number(libc::AT_FDCWD as i64);

#[expect(unsafe_code, reason = "no safe wrapper makes calls that are to be refused")]
pub(crate) fn call<const N: usize>(number: libc::c_long, given: [Given<'_>; N]) -> io::Result<i64> {
    let mut words = [0_i64; 6];
    for (word, given) in words.iter_mut().zip(given) {
        *word = match given {
            Given::Number(number) => number,
            Given::Text(text) => text.as_ptr().addr().cast_signed() as i64,
            Given::Bytes(bytes) => bytes.as_mut_ptr().addr().cast_signed() as i64,
        };
    }
    let [first, second, third, fourth, fifth, sixth] = words;
    // SAFETY: pointers come from borrows that outlive the call, and are as long as the call is told. No probe makes
    // a call that changes this process's own memory.
    let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A number as the bytes that the kernel reads.
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// Runs `work` in a child, and gives the code that it left with, or the signal that ended it as `Err`.
#[expect(unsafe_code, reason = "fork")]
pub(crate) fn in_child(work: impl FnOnce() -> i32) -> io::Result<Result<i32, i32>> {
    // SAFETY: this program has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => leave(work()),
        child => wait(child),
    }
}

#[expect(unsafe_code, reason = "waits for a process by number")]
pub(crate) fn wait(child: libc::pid_t) -> io::Result<Result<i32, i32>> {
    let mut status = 0;
    // SAFETY: the status is ours.
    if unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(if libc::WIFSIGNALED(status) {
        Err(libc::WTERMSIG(status))
    } else {
        Ok(libc::WEXITSTATUS(status))
    })
}

/// Ends this process without running anything of the program above.
#[expect(unsafe_code, reason = "leaves a forked process")]
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}
