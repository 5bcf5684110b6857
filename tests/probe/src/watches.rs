//! Watching what others do with a file that both see, and telling them something by a lock.
//!
//! Whoever watches or holds a lock must know when the others have done their part. Both sides meet in a directory: the
//! probe writes `ready` there, and goes on when it finds `others`.

use std::{
    ffi::CString,
    fs::{self, File},
    io::{self, Read as _},
    os::fd::AsRawFd as _,
    path::Path,
};

use crate::{
    Attempt, Outcome,
    raw::{Given, NOTHING, call, put},
};

/// Everything that can happen to a file.
const ANYTHING: i64 = 0xfff;

/// Something new in a directory.
const MADE: i64 = 0x100 | 0x80;

/// As `struct flock` lies in memory: what kind of lock, from where, how long, whose.
const LOCK_BYTES: usize = 32;

pub(crate) fn attempt(words: &[&str]) -> Option<Attempt> {
    match words {
        ["notices", path, place] => Some(notices(path, Path::new(place))),
        ["hold-lock", path, place] => Some(hold(path, Path::new(place))),
        ["take-lock", path] => Some(take(path)),
        _ => None,
    }
}

/// Tells whether it noticed what others did with a file, and what it did itself.
fn notices(path: &str, place: &Path) -> Attempt {
    let watch = watch(path, ANYTHING, libc::O_NONBLOCK)?;
    meet(place)?;
    let others = seen(watch)?;
    if fs::metadata(path)?.is_dir() {
        fs::read_dir(path)?.next();
    } else {
        File::open(path)?.read_exact(&mut [0; 4])?;
    }
    let own = seen(watch)?;
    Ok(Outcome::value(format_args!("others {others}, own {own}")))
}

fn watch(path: &str, what: i64, flags: i32) -> io::Result<i64> {
    let watch = call(libc::SYS_inotify_init1, [Given::Number(flags.into())])?;
    let path = CString::new(path)?;
    let given = [Given::Number(watch), Given::Text(&path), Given::Number(what)];
    call(libc::SYS_inotify_add_watch, given)?;
    Ok(watch)
}

fn seen(watch: i64) -> io::Result<&'static str> {
    let mut notice = [0; 4096];
    let size = Given::Number(4096);
    match call(libc::SYS_read, [Given::Number(watch), Given::Bytes(&mut notice), size]) {
        Ok(_) => Ok("seen"),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok("unseen"),
        Err(error) => Err(error),
    }
}

/// Waits until the others have done their part.
fn meet(place: &Path) -> io::Result<()> {
    let path = place.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
    let made = watch(path, MADE, 0)?;
    File::create(place.join("ready"))?;
    while !fs::exists(place.join("others"))? {
        seen(made)?;
    }
    Ok(())
}

/// Holds a file by both kinds of lock.
fn hold(path: &str, place: &Path) -> Attempt {
    let file = File::open(path)?;
    whole_file(&file, libc::LOCK_EX)?;
    match of_the_description(&file, libc::F_OFD_SETLK, libc::F_RDLCK) {
        // gVisor has only the other kind.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
        other => {
            other?;
        }
    }
    meet(place)?;
    Ok(Outcome::Allowed)
}

/// Takes both, where nobody holds them.
fn take(path: &str) -> Attempt {
    let file = File::open(path)?;
    whole_file(&file, libc::LOCK_EX | libc::LOCK_NB)?;
    match of_the_description(&file, libc::F_OFD_GETLK, libc::F_WRLCK) {
        Ok(holder) if i32::from(holder) == libc::F_UNLCK => Ok(Outcome::Allowed),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(Outcome::Allowed),
        Err(error) => Err(error),
    }
}

fn whole_file(file: &File, how: i32) -> io::Result<i64> {
    let file = Given::Number(file.as_raw_fd().into());
    call(libc::SYS_flock, [file, Given::Number(how.into()), NOTHING])
}

/// Gives the kind of lock that is then there.
fn of_the_description(file: &File, command: i32, kind: i32) -> io::Result<i16> {
    let mut lock = [0; LOCK_BYTES];
    let kind = i16::try_from(kind).map_err(io::Error::other)?;
    put(&mut lock, 0, &kind.to_ne_bytes());
    let file = Given::Number(file.as_raw_fd().into());
    let given = [file, Given::Number(command.into()), Given::Bytes(&mut lock)];
    call(libc::SYS_fcntl, given)?;
    let [first, second, ..] = lock;
    Ok(i16::from_ne_bytes([first, second]))
}
