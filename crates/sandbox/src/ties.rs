//! Files of a workspace that have another name outside of it.
//!
//! A mount that is read-only keeps whoever comes through it from writing. A hard link does not come through it: a file that was
//! linked to `/home` while the workspace could still be written (package managers do it by the thousand) could be changed by
//! that name afterwards. So before a workspace is sealed, each such file gets an inode of its own; the name outside keeps the old one.
//! Files whose names are all inside stay as they are.
//!
//! Nothing runs on the disk meanwhile. But whoever filled it may mean harm: every step goes through a descriptor, no link is followed,
//! and there are limits to how deep, how many and how much. Only what was written on the disk is looked at. What comes from
//! layers needs no care: an overlay makes another file of it when it is first written.

use std::{
    collections::HashMap,
    ffi::{CStr, CString},
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileExt as _,
    },
    path::Path,
};

use contracts::sandbox::WORKSPACE;
use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, SeekFrom, Statx, StatxFlags, Timespec,
        Timestamps, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fsetxattr, ftruncate,
        futimens, ioctl_ficlone, openat, renameat, seek, statx, unlinkat,
    },
    io::Errno,
};

/// Every level costs a descriptor, and no honest tree comes near.
const DEEPEST: usize = 256;

/// How many files are looked at.
const MOST_FILES: u64 = 1 << 22;

/// How many of them may have several names.
const MOST_LINKED: usize = 1 << 20;

/// How many bytes of names are held at once, with what it costs to hold each.
const NAMES_BYTES: usize = 64 << 20;
const NAME_COSTS: usize = 32;

/// Where the new inode lies until it gets its name: on the disk, and outside of all that is shown.
const COPY: &CStr = c"untied";

#[derive(Debug, thiserror::Error)]
pub(crate) enum TieError {
    #[error("it has too many files, or they lie too deep, to look at each")]
    TooMuch,
    #[error("files that have names outside of it, too, hold more than the disk may")]
    TooLarge,
    #[error("its files cannot be looked at: {0}")]
    System(#[from] io::Error),
}

impl From<Errno> for TieError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// Unties what lies in the workspace on this disk, and tells how many names there were. At most `bytes` are copied, where the
/// file system cannot share them.
pub(crate) fn untie(disk: &Path, bytes: u64) -> Result<u64, TieError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let home = openat(CWD, disk, flags, Mode::empty())?;
    let upper = openat(&home, "upper", flags, Mode::empty())?;
    let workspace = WORKSPACE.trim_start_matches('/');
    let open = || match openat(&upper, workspace, flags, Mode::empty()) {
        Ok(workspace) => Ok(Some(workspace)),
        // Nothing was written there. Where it is no directory, the launcher refuses it.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error),
    };
    let Some(workspace) = open()? else { return Ok(0) };
    // How many of its names a file has outside.
    let mut outside: HashMap<(u32, u32, u64), u32> = HashMap::new();
    walk(workspace, |_, _, about| {
        let names = outside.entry(inode(about)).or_insert(about.stx_nlink);
        *names = names.saturating_sub(1);
        if outside.len() > MOST_LINKED { Err(TieError::TooMuch) } else { Ok(()) }
    })?;
    outside.retain(|_, names| *names > 0);
    let mut copying = Copying { home, left: bytes, count: 0 };
    let Some(workspace) = open()?.filter(|_| !outside.is_empty()) else { return Ok(0) };
    walk(workspace, |directory, name, about| {
        if !outside.contains_key(&inode(about)) {
            return Ok(());
        }
        copying.replace(directory, name, about)
    })?;
    Ok(copying.count)
}

fn inode(about: &Statx) -> (u32, u32, u64) {
    (about.stx_dev_major, about.stx_dev_minor, about.stx_ino)
}

/// One directory of a walk, and what is left to do in it.
struct Level {
    directory: OwnedFd,
    left: Vec<CString>,
}

/// Visits every file with several names. Only plain files: nothing is written through a link, a pipe or what an overlay notes as
/// removed.
fn walk(
    top: OwnedFd,
    mut visit: impl FnMut(&OwnedFd, &CStr, &Statx) -> Result<(), TieError>,
) -> Result<(), TieError> {
    let (mut seen, mut held) = (0_u64, 0_usize);
    let mut levels = vec![enter(top, &mut held)?];
    loop {
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { return Ok(()) };
        let Some(name) = level.left.pop() else {
            drop(levels.pop());
            continue;
        };
        held = held.saturating_sub(cost(&name));
        seen += 1;
        if seen > MOST_FILES {
            return Err(TieError::TooMuch);
        }
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let about = statx(&level.directory, &*name, flags, StatxFlags::BASIC_STATS)?;
        match FileType::from_raw_mode(about.stx_mode.into()) {
            FileType::Directory if depth >= DEEPEST => return Err(TieError::TooMuch),
            FileType::Directory => {
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let inner = openat(&level.directory, &*name, flags, Mode::empty())?;
                levels.push(enter(inner, &mut held)?);
            }
            FileType::RegularFile if about.stx_nlink > 1 => {
                visit(&level.directory, &name, &about)?;
            }
            FileType::RegularFile
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }
}

fn enter(directory: OwnedFd, held: &mut usize) -> Result<Level, TieError> {
    let mut left = Vec::new();
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        *held += cost(name);
        if *held > NAMES_BYTES {
            return Err(TieError::TooMuch);
        }
        left.push(name.to_owned());
    }
    Ok(Level { directory, left })
}

fn cost(name: &CStr) -> usize {
    name.count_bytes() + NAME_COSTS
}

struct Copying {
    home: OwnedFd,
    /// How many bytes may still be copied.
    left: u64,
    count: u64,
}

impl Copying {
    /// Puts a copy, with an inode of its own, in the place of one name.
    fn replace(&mut self, directory: &OwnedFd, name: &CStr, about: &Statx) -> Result<(), TieError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let from = File::from(openat(directory, name, flags, Mode::empty())?);
        match unlinkat(&self.home, COPY, AtFlags::empty()) {
            // One that a crash left.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let to = File::from(openat(&self.home, COPY, flags, Mode::RUSR | Mode::WUSR)?);
        if ioctl_ficlone(&to, &from).is_err() {
            self.copy(&from, &to, about.stx_size)?;
        }
        copy_notes(&from, &to)?;
        fchown(&to, Some(Uid::from_raw(about.stx_uid)), Some(Gid::from_raw(about.stx_gid)))?;
        fchmod(&to, Mode::from_raw_mode(u32::from(about.stx_mode) & 0o7777))?;
        let time = |time: rustix::fs::StatxTimestamp| Timespec {
            tv_sec: time.tv_sec,
            tv_nsec: time.tv_nsec.into(),
        };
        let (last_access, last_modification) = (time(about.stx_atime), time(about.stx_mtime));
        futimens(&to, &Timestamps { last_access, last_modification })?;
        renameat(&self.home, COPY, directory, name)?;
        self.count += 1;
        Ok(())
    }

    /// Copies what there is; holes stay holes.
    fn copy(&mut self, from: &File, to: &File, size: u64) -> Result<(), TieError> {
        let mut piece = vec![0; 128 << 10];
        let mut at = 0;
        loop {
            let start = match seek(from, SeekFrom::Data(at)) {
                Ok(start) => start,
                // Nothing but a hole follows.
                Err(Errno::NXIO) => break,
                Err(error) => return Err(error.into()),
            };
            let end = seek(from, SeekFrom::Hole(start))?;
            let data = end.saturating_sub(start);
            self.left = self.left.checked_sub(data).ok_or(TieError::TooLarge)?;
            at = start;
            while at < end {
                let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(piece.len());
                let Some(room) = piece.get_mut(..wanted) else { break };
                from.read_exact_at(room, at)?;
                to.write_all_at(room, at)?;
                at += wanted as u64;
            }
        }
        Ok(ftruncate(to, size)?)
    }
}

/// What its owner noted about a file; not what the overlay did.
fn copy_notes(from: &File, to: &File) -> Result<(), TieError> {
    let mut names = vec![0; 64 << 10];
    let length = match flistxattr(from, &mut *names) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut value = vec![0; 64 << 10];
    for name in names.get(..length).unwrap_or_default().split_inclusive(|byte| *byte == 0) {
        let is_a_users = name.starts_with(b"user.") && !name.starts_with(b"user.overlay.");
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        if is_a_users {
            let length = fgetxattr(from.as_fd(), name, &mut *value)?;
            let value = value.get(..length).unwrap_or_default();
            fsetxattr(to.as_fd(), name, value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "ties_tests.rs"]
mod tests;
