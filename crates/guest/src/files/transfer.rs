//! Content out, content in.

use std::{
    ffi::{CString, c_char, c_int},
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::{
        ffi::OsStrExt,
        fs::{OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use super::{Doing, Failure, input, output};

const PIECE: usize = 64 * 1024;

/// What stands beside the path until the content is whole.
static BESIDE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

pub(super) fn read(path: &str) -> Result<(), Failure> {
    let mut file = File::open(path).doing(|| path.to_owned())?;
    carry(&mut file, &mut output()?).doing(|| path.to_owned())
}

/// Not `io::copy`, which leaves the work to the kernel: an imitation of it carries nothing from a pipe to a file, and
/// says that it is done.
fn carry(from: &mut File, to: &mut File) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(piece.get(..length).unwrap_or_default())?;
    }
}

/// Whoever reads the path sees the old content or the new one, never a part.
pub(super) fn write(path: &str, mode: u32) -> Result<(), Failure> {
    let beside = beside(path)?;
    remove_when_killed(&beside)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the guest uses no room, and the file is the agent's"
    )]
    let written = fill(&beside, mode).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The reason to tell is why it failed, not that nothing was there to remove.
        let _nothing = fs::remove_file(&beside);
    }
    written.doing(|| path.to_owned())
}

fn fill(beside: &Path, mode: u32) -> io::Result<()> {
    let mut file = fresh(beside)?;
    let mut input = input().map_err(|failure| io::Error::from_raw_os_error(failure.errno))?;
    carry(&mut input, &mut file)?;
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

/// A file of our own. What stands there already was left by one that is dead: numbers of processes begin anew when a sandbox wakes, and
/// whoever was killed in the middle could not tidy up.
fn fresh(beside: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    match options.open(beside) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(beside)?;
            options.open(beside)
        }
        opened => opened,
    }
}

fn beside(path: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(path);
    let (Some(parent), Some(_name)) = (path.parent(), path.file_name()) else {
        return Err(Failure::rule(format!("{}: not a file's name", path.display())));
    };
    // One child writes one file, and no two living processes have one number.
    Ok(parent.join(format!(".lamp-{}", std::process::id())))
}

/// The file beside must not stay when the host gives up.
#[expect(unsafe_code, reason = "a signal's handler")]
fn remove_when_killed(beside: &Path) -> Result<(), Failure> {
    let name = CString::new(beside.as_os_str().as_bytes())
        .map_err(|_zero| Failure::rule("a zero in the path"))?;
    BESIDE.store(name.into_raw(), Ordering::Release);
    let handler: extern "C" fn(c_int) = remove_and_exit;
    // SAFETY: the handler only calls what may be called in one.
    let _previous = unsafe { libc::signal(libc::SIGTERM, handler as libc::sighandler_t) };
    Ok(())
}

#[expect(unsafe_code, reason = "a signal's handler")]
extern "C" fn remove_and_exit(_signal: c_int) {
    let name = BESIDE.load(Ordering::Acquire);
    if !name.is_null() {
        // SAFETY: a string that is never freed; `unlink` may be called in a handler.
        unsafe { libc::unlink(name) };
    }
    crate::raw::exit(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_that_was_killed_has_left_is_replaced_and_never_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let (place, other) = (directory.path().join(".lamp-7"), directory.path().join("other"));
        fs::write(&place, "a part").unwrap();
        fresh(&place).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "new");
        fs::remove_file(&place).unwrap();
        fs::write(&other, "precious").unwrap();
        std::os::unix::fs::symlink(&other, &place).unwrap();
        fresh(&place).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        fresh(&place).unwrap_err();
    }
}
