//! Copies the tree that a sandbox wrote, with all that an overlay keeps in it: whiteouts, attributes, hard links.
//!
//! Bytes are shared where the file system can, and holes stay holes: a sparse file must not fill the disk.

use std::{
    collections::HashMap,
    ffi::{CStr, CString},
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, Uid, XattrFlags,
    },
    io::Errno,
};

use super::{
    DiskError,
    error::{Trying, at_depth},
    tree::{kind, names, open_directory, open_root, stat},
};

/// Copies what is in `from`, and its own owner, mode and attributes, to the empty directory `to`.
pub(super) fn tree(from: &Path, to: &Path) -> Result<(), DiskError> {
    let (source, target) = (open_root(from)?, open_root(to)?);
    let mut copying = Copying { target: open_root(to)?, linked: HashMap::new() };
    let own = rustix::fs::fstat(&source).trying("read", from)?;
    let left = names(&source).trying("read", from)?;
    let mut levels = vec![Level { source, target, left, stat: own, path: PathBuf::new() }];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.left.pop() else {
            dress(&level.source, &level.target, &level.stat).trying("copy", from)?;
            levels.pop();
            continue;
        };
        let path = level.path.join(name.to_string_lossy().as_ref());
        match copying.entry(level, &name) {
            Ok(None) => {}
            Ok(Some(inner)) => {
                at_depth(levels.len(), from)?;
                levels.push(inner);
            }
            // It vanished while we came: `from` is in use.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).trying("copy", &from.join(path)),
        }
    }
    Ok(())
}

struct Level {
    source: OwnedFd,
    target: OwnedFd,
    left: Vec<CString>,
    stat: Stat,
    path: PathBuf,
}

struct Copying {
    target: OwnedFd,
    /// Where the first name of a file with several went.
    linked: HashMap<(u64, u64), PathBuf>,
}

impl Copying {
    fn entry(&mut self, level: &Level, name: &CStr) -> io::Result<Option<Level>> {
        use std::os::unix::ffi::OsStrExt;
        let found = stat(&level.source, name)?;
        let path = level.path.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
        let is_directory = kind(&found) == FileType::Directory;
        if found.st_nlink > 1 && !is_directory {
            if let Some(first) = self.linked.get(&(found.st_dev, found.st_ino))
                && rustix::fs::linkat(&self.target, first, &level.target, name, AtFlags::empty())
                    .is_ok()
            {
                return Ok(None);
            }
            self.linked.insert((found.st_dev, found.st_ino), path.clone());
        }
        if is_directory {
            let source = open_directory(&level.source, name)?;
            rustix::fs::mkdirat(&level.target, name, Mode::RWXU)?;
            let target = open_directory(&level.target, name)?;
            let left = names(&source)?;
            let stat = rustix::fs::fstat(&source)?;
            return Ok(Some(Level { source, target, left, stat, path }));
        }
        leaf(level, name, &found)?;
        Ok(None)
    }
}

fn leaf(level: &Level, name: &CStr, found: &Stat) -> io::Result<()> {
    let (from, to) = (&level.source, &level.target);
    match kind(found) {
        FileType::RegularFile => return file(from, to, name),
        FileType::Symlink => {
            let goal = rustix::fs::readlinkat(from, name, Vec::new())?;
            rustix::fs::symlinkat(&goal, to, name)?;
        }
        // Of the devices only whiteouts are honest: nothing else can be made inside.
        FileType::CharacterDevice if found.st_rdev != 0 => return Ok(()),
        FileType::BlockDevice | FileType::Unknown | FileType::Directory => return Ok(()),
        special @ (FileType::CharacterDevice | FileType::Fifo | FileType::Socket) => {
            rustix::fs::mknodat(to, name, special, Mode::RUSR | Mode::WUSR, 0)?;
        }
    }
    let (source, target) = (handle(from, name)?, handle(to, name)?);
    dress(&source, &target, found)?;
    Ok(())
}

/// A descriptor that names a file without opening it.
fn handle(directory: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

fn file(from: &OwnedFd, to: &OwnedFd, name: &CStr) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = match rustix::fs::openat(from, name, flags, Mode::empty()) {
        // A file that its owner closed to himself: we are that owner, when we are not root.
        Err(Errno::ACCESS) => {
            let named = handle(from, name)?;
            let mode = Mode::from_raw_mode(rustix::fs::fstat(&named)?.st_mode);
            rustix::fs::chmod(by_handle(&named), mode | Mode::RUSR)?;
            let opened = rustix::fs::openat(from, name, flags, Mode::empty());
            rustix::fs::chmod(by_handle(&named), mode)?;
            opened?
        }
        opened => opened?,
    };
    let found = rustix::fs::fstat(&source)?;
    if kind(&found) != FileType::RegularFile {
        return Ok(());
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let target = rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
        pour(&File::from(source.try_clone()?), &File::from(target.try_clone()?))?;
    }
    dress(&source, &target, &found)?;
    Ok(())
}

/// Copies the bytes of a file, and not its holes.
fn pour(mut source: &File, mut target: &File) -> io::Result<()> {
    use std::io::{Read, Seek};
    let size = source.metadata()?.len();
    let mut at = 0;
    while at < size {
        let begin = match rustix::fs::seek(source, SeekFrom::Data(at)) {
            Ok(begin) => begin,
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(source, SeekFrom::Hole(begin))?;
        source.seek(io::SeekFrom::Start(begin))?;
        target.seek(io::SeekFrom::Start(begin))?;
        io::copy(&mut source.take(end.saturating_sub(begin)), &mut target)?;
        at = end;
    }
    target.set_len(size)
}

/// Gives the copy the owner, mode, attributes and times of its model.
fn dress(model: &OwnedFd, copy: &OwnedFd, stat: &Stat) -> Result<(), Errno> {
    let own = rustix::fs::statat(copy, c"", AtFlags::EMPTY_PATH)?;
    if (own.st_uid, own.st_gid) != (stat.st_uid, stat.st_gid) {
        let (user, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        rustix::fs::chownat(copy, c"", Some(user), Some(group), AtFlags::EMPTY_PATH)?;
    }
    attributes(model, copy)?;
    // After the owner: changing that takes set-uid bits away. Links have no mode of their own.
    if kind(stat) != FileType::Symlink {
        rustix::fs::chmod(by_handle(copy), Mode::from_raw_mode(stat.st_mode))?;
    }
    let times = Timestamps {
        last_access: Timespec { tv_sec: stat.st_atime, tv_nsec: nanos(stat.st_atime_nsec) },
        last_modification: Timespec { tv_sec: stat.st_mtime, tv_nsec: nanos(stat.st_mtime_nsec) },
    };
    rustix::fs::utimensat(copy, c"", &times, AtFlags::EMPTY_PATH)
}

fn nanos(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or_default()
}

/// Reaches what a descriptor names even when it was only named, not opened.
fn by_handle(handle: impl AsFd) -> CString {
    CString::new(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd())).unwrap_or_default()
}

fn attributes(model: &OwnedFd, copy: &OwnedFd) -> Result<(), Errno> {
    let (model, copy) = (by_handle(model), by_handle(copy));
    let mut list = vec![0; 65_536];
    let length = match rustix::fs::listxattr(&model, list.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(()),
        Err(error) => return Err(error),
    };
    list.truncate(length);
    let mut value = Vec::new();
    for name in list.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(name) = CString::new(name) else { continue };
        value.resize(65_536, 0);
        let length = match rustix::fs::getxattr(&model, &name, value.as_mut_slice()) {
            Ok(length) => length,
            Err(Errno::NODATA) => continue,
            Err(error) => return Err(error),
        };
        value.truncate(length);
        rustix::fs::setxattr(&copy, &name, &value, XattrFlags::empty())?;
    }
    Ok(())
}
