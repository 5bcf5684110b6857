//! Walking trees that a sandbox wrote.
//!
//! Whoever wrote them may still be writing, and may mean harm. So every step goes through a descriptor of the directory above it and
//! follows no link: a directory that is swapped for a link while we walk leads nowhere.

use std::{
    collections::HashSet,
    ffi::{CStr, CString},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, Stat},
    io::Errno,
};

use super::{
    DiskError, Usage,
    error::{DEEPEST, Trying, at_depth},
};

pub(super) fn open_directory(parent: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

pub(super) fn open_root(path: &Path) -> Result<OwnedFd, DiskError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).trying("open", path)
}

pub(super) fn names(directory: impl AsFd) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

pub(super) fn stat(parent: impl AsFd, name: &CStr) -> Result<Stat, Errno> {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// One directory of a walk, and what is left to do in it.
struct Level {
    directory: OwnedFd,
    left: Vec<CString>,
    /// What it had when it was closed to us, and gets again when we leave.
    _closed: Option<Closed>,
}

/// A directory that its owner, who we are, may not read. It is opened for as long as we look, because what is in it counts.
struct Closed {
    at: OwnedFd,
    mode: Mode,
}

impl Drop for Closed {
    fn drop(&mut self) {
        let _ = chmod(&self.at, self.mode);
    }
}

/// By its descriptor alone: its name may be another's by now.
fn chmod(at: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::chmod(itself(at), mode)
}

fn itself(at: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", at.as_raw_fd())
}

/// Opens a directory for counting, also one that is closed to us. `None` when it is gone.
fn enter(parent: &OwnedFd, name: &CStr) -> Result<Option<Level>, Errno> {
    let read = |directory: OwnedFd, closed| {
        let left = names(&directory)?;
        // Without the right to search it, every name in it would seem gone.
        match left.first().map(|first| stat(&directory, first)) {
            Some(Err(Errno::ACCESS)) => Err(Errno::ACCESS),
            Some(Ok(_) | Err(_)) | None => Ok(Some(Level { directory, left, _closed: closed })),
        }
    };
    let opened = open_directory(parent, name).and_then(|directory| read(directory, None));
    match opened {
        Err(Errno::ACCESS) => {}
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        opened => return opened,
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let at = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&at)?.st_mode & 0o7777);
    chmod(&at, mode | Mode::RWXU)?;
    let path = itself(&at);
    let closed = Closed { at, mode };
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    read(rustix::fs::open(path, flags, Mode::empty())?, Some(closed))
}

/// What to do about what lies deeper than [`DEEPEST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deep {
    /// Where nothing else knows how much there is.
    Refused,
    LeftOut,
}

/// What a tree takes on the disk. Hard links count once. What vanishes meanwhile does not count.
pub(super) fn measure(root: &Path, deep: Deep) -> Result<Usage, DiskError> {
    let directory = open_root(root)?;
    let left = names(&directory).trying("read", root)?;
    let mut levels = vec![Level { directory, left, _closed: None }];
    let mut usage = Usage::default();
    let mut linked = HashSet::new();
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.left.pop() else {
            drop(levels.pop());
            continue;
        };
        let Ok(stat) = stat(&level.directory, &name) else { continue };
        if stat.st_nlink > 1
            && kind(&stat) != FileType::Directory
            && !linked.insert((stat.st_dev, stat.st_ino))
        {
            continue;
        }
        usage.files += 1;
        usage.bytes += u64::try_from(stat.st_blocks).unwrap_or_default() * 512;
        if kind(&stat) != FileType::Directory {
            continue;
        }
        let entered = match (enter(&level.directory, &name), deep) {
            (Ok(entered), _) => entered,
            (Err(_), Deep::Refused) => return Err(DiskError::Hidden(root.display().to_string())),
            (Err(_), Deep::LeftOut) => None,
        };
        let Some(entered) = entered else { continue };
        match (at_depth(levels.len(), root), deep) {
            (Ok(()), _) => levels.push(entered),
            (Err(too_deep), Deep::Refused) => return Err(too_deep),
            (Err(_), Deep::LeftOut) => {}
        }
    }
    Ok(usage)
}

/// Removes `name` in `top`, whatever it is and however deep. Whoever owned it is gone, so nothing changes meanwhile.
pub(super) fn remove(top: &Path, name: &CStr) -> Result<(), DiskError> {
    let directory = open_root(top)?;
    let mut waiting = vec![name.to_owned()];
    let mut cut = 0_u64;
    while let Some(name) = waiting.pop() {
        remove_piece(&directory, &name, |parent, child| {
            let piece = loop {
                cut += 1;
                let piece = format!("piece-{cut}-{}", name.to_string_lossy());
                let piece = CString::new(piece).map_err(|_| Errno::INVAL)?;
                let flags = rustix::fs::RenameFlags::NOREPLACE;
                match rustix::fs::renameat_with(parent, child, &directory, &piece, flags) {
                    Ok(()) => break piece,
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
            };
            waiting.push(piece);
            Ok(())
        })
        .trying("remove", &top.join(name.to_string_lossy().as_ref()))?;
    }
    Ok(())
}

/// Removes one tree; what lies too deep is given to `cut_off`, which moves it out of the way.
fn remove_piece(
    top: &OwnedFd,
    name: &CStr,
    mut cut_off: impl FnMut(&OwnedFd, &CStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let Some(first) = unlink_or_enter(top, name)? else { return Ok(()) };
    let mut path = vec![name.to_owned()];
    let mut levels = vec![first];
    while let Some(level) = levels.last_mut() {
        if let Some(child) = level.left.pop() {
            let inner = if path.len() < DEEPEST {
                unlink_or_enter(&level.directory, &child)?
            } else {
                match rustix::fs::unlinkat(&level.directory, &child, AtFlags::empty()) {
                    Err(Errno::ISDIR | Errno::PERM) => cut_off(&level.directory, &child)?,
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(error),
                }
                None
            };
            if let Some(inner) = inner {
                path.push(child);
                levels.push(inner);
            }
            continue;
        }
        levels.pop();
        let Some(done) = path.pop() else { break };
        let parent = levels.last().map_or(top, |level| &level.directory);
        match rustix::fs::unlinkat(parent, &done, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

const OWNER_ALL: RawMode = 0o700;

fn unlink_or_enter(parent: &OwnedFd, name: &CStr) -> Result<Option<Level>, Errno> {
    let stat = match stat(parent, name) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error),
    };
    if kind(&stat) != FileType::Directory {
        return match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        };
    }
    // An overlay leaves its own directory in `work` closed, and agents close theirs. Root does not mind; others do.
    if stat.st_mode & OWNER_ALL != OWNER_ALL && !rustix::process::geteuid().is_root() {
        rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
    }
    let directory = open_directory(parent, name)?;
    let left = names(&directory)?;
    Ok(Some(Level { directory, left, _closed: None }))
}
