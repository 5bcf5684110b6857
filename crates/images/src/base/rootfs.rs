//! A root file system that the operator has: a directory, or a tar of one.
//!
//! Its files are copied, because those of a layer belong to ids of their own, and a directory that changes under a
//! sandbox is no base. It is known by names, sizes, owners and times of all that is in it, not by content: reading
//! gigabytes at every start would cost more than a rare needless import.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec};
use sha2::{Digest as _, Sha256};

use super::{
    BaseError, Digest, Owner,
    ground::{self, Ground, Inside, Marks, Standing},
    stream,
    unpack::{self, Limits, Rules, Unpacked, Whiteouts},
};

/// The name of a directory or tar as it is now. Another name after any change, also after one that keeps the content.
pub fn fingerprint(path: &Path) -> Result<Digest, BaseError> {
    let found = std::fs::metadata(path).map_err(BaseError::host("read", path))?;
    let mut hash = Sha256::new_with_prefix("root file system 1\n");
    if found.is_dir() {
        walk(path, &mut |entry| {
            let Seen { path, stat, target } = entry;
            hash.update(format!(
                "{} {:o} {} {} {} {} {} {} {} {target:?}\n",
                path.as_bytes().escape_ascii(),
                stat.st_mode,
                stat.st_uid,
                stat.st_gid,
                if is_directory(stat) { 0 } else { stat.st_size },
                stat.st_mtime,
                stat.st_mtime_nsec,
                stat.st_ctime,
                stat.st_ctime_nsec,
            ));
            Ok(())
        })?;
    } else {
        let mut text = String::new();
        let times = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {} {} {times:?}", found.dev(), found.ino(), found.size());
        hash.update(text);
    }
    Ok(Digest::from_hash(hash))
}

/// Unpacks a tar, plain or packed with gzip or zstd, into the empty directory `into`.
pub fn import_tar(
    tar: &Path,
    into: &Path,
    owner: Owner,
    limits: Limits,
) -> Result<Unpacked, BaseError> {
    let file = File::open(tar).map_err(BaseError::host("open", tar))?;
    if !file.metadata().map_err(BaseError::host("open", tar))?.is_file() {
        return Err(BaseError::refused(format!("`{}` is not a file", tar.display())));
    }
    let input = stream::unpacked(file).map_err(BaseError::host("read", tar))?;
    unpack::unpack(input, into, &Rules { owner, whiteouts: Whiteouts::Ordinary, limits })
}

/// Copies a directory into the empty directory `into`. What is mounted inside of it is not followed; devices, pipes and
/// sockets are left out.
pub fn import_directory(
    from: &Path,
    into: &Path,
    owner: Owner,
    limits: Limits,
) -> Result<Unpacked, BaseError> {
    let mut copying = Copying {
        source: Ground::open(from).map_err(BaseError::host("open", from))?,
        ground: Ground::open(into).map_err(BaseError::host("open", into))?,
        owner,
        limits,
        linked: HashMap::new(),
        directories: Vec::new(),
        done: Unpacked::default(),
    };
    walk(from, &mut |entry| copying.take(entry))?;
    copying.finish().map_err(BaseError::host("finish", into))
}

struct Seen<'a> {
    path: &'a Inside,
    stat: &'a Stat,
    /// Of a symbolic link.
    target: Option<Vec<u8>>,
}

/// Shows everything in a directory, itself included, parents first, in the order of names. Links are not followed, and
/// other file systems not entered.
fn walk(
    root: &Path,
    show: &mut dyn FnMut(&Seen<'_>) -> Result<(), BaseError>,
) -> Result<(), BaseError> {
    let doing = |path: &Inside| BaseError::host("read", &root.join(path.as_path()));
    let open = fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let open = open.map_err(|errno| BaseError::host("open", root)(errno.into()))?;
    let stat = fs::fstat(&open).map_err(|errno| BaseError::host("read", root)(errno.into()))?;
    let device = stat.st_dev;
    let ground = Ground::open(root).map_err(BaseError::host("open", root))?;
    let mut waiting = vec![(Inside::default(), stat)];
    while let Some((path, stat)) = waiting.pop() {
        let target = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => Some(link_target(&ground, &path).map_err(doing(&path))?),
            FileType::Directory if stat.st_dev == device => {
                let mut below = children(&ground, &path, root)?;
                below.sort_by(|one, other| other.0.cmp(&one.0));
                waiting.append(&mut below);
                None
            }
            FileType::Directory
            | FileType::RegularFile
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Fifo
            | FileType::Socket
            | FileType::Unknown => None,
        };
        show(&Seen { path: &path, stat: &stat, target })?;
    }
    Ok(())
}

fn children(ground: &Ground, path: &Inside, root: &Path) -> Result<Vec<(Inside, Stat)>, BaseError> {
    let failed = |error: io::Error| BaseError::host("read", &root.join(path.as_path()))(error);
    let directory = ground.directory(path).map_err(failed)?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&directory).map_err(|errno| failed(errno.into()))? {
        let entry = entry.map_err(|errno| failed(errno.into()))?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let below = path.join(name).map_err(|refused| {
            BaseError::refused(format!(
                "a path in `{}` {refused}",
                root.join(path.as_path()).display()
            ))
        })?;
        let stat = fs::statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
        found.push((below, stat.map_err(|errno| failed(errno.into()))?));
    }
    Ok(found)
}

fn link_target(ground: &Ground, path: &Inside) -> io::Result<Vec<u8>> {
    let (parent, name) = parts(path)?;
    Ok(fs::readlinkat(ground.directory(&parent)?, name, Vec::new())?.into_bytes())
}

fn parts(path: &Inside) -> io::Result<(Inside, Vec<u8>)> {
    let (parent, name) = path.split().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((parent, name.to_vec()))
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

struct Copying {
    source: Ground,
    ground: Ground,
    owner: Owner,
    limits: Limits,
    /// Where a file with several names was copied to.
    linked: HashMap<(u64, u64), Inside>,
    directories: Vec<(Inside, Marks, u32)>,
    done: Unpacked,
}

impl Copying {
    fn take(&mut self, seen: &Seen<'_>) -> Result<(), BaseError> {
        let Seen { path, stat, .. } = seen;
        let shown = || PathBuf::from("/").join(path.as_path());
        if path.as_bytes().split(|byte| *byte == b'/').next() == Some(unpack::RESERVED) {
            self.done.skipped += 1;
            return Ok(());
        }
        // An ordinary user's files are that user's, whatever the id.
        let (user, group) = match self.owner.base {
            Some(_) => (stat.st_uid.into(), stat.st_gid.into()),
            None => (0, 0),
        };
        let stored = self.owner.stored(user, group).map_err(|id| {
            let shown = shown();
            BaseError::refused(format!(
                "`{}` belongs to the id {}, and a sandbox has only 65536",
                shown.display(),
                id.0
            ))
        })?;
        self.done.entries += 1;
        if self.done.entries > self.limits.entries || self.done.bytes > self.limits.bytes {
            let Limits { entries, bytes } = self.limits;
            return Err(BaseError::refused(format!(
                "the directory has more than {entries} entries or {bytes} bytes"
            )));
        }
        let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
        let modified = Timespec { tv_sec: stat.st_mtime, tv_nsec: nanoseconds };
        let marks = Marks { stored, modified };
        self.copy(seen, &marks).map_err(BaseError::host("copy", &shown()))
    }

    fn copy(&mut self, seen: &Seen<'_>, marks: &Marks) -> io::Result<()> {
        let Seen { path, stat, target } = seen;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                self.ground.ensure(path, &mut |_| {})?;
                let mode = self.owner.directory_mode(stat.st_mode);
                self.directories.push(((*path).clone(), *marks, mode));
            }
            FileType::Symlink => {
                let (parent, name) = parts(path)?;
                let open = self.ground.ensure(&parent, &mut |_| {})?;
                let target = target.as_deref().unwrap_or_default();
                fs::symlinkat(target, open, name.as_slice())?;
                marks.put_at(open, &name)?;
            }
            FileType::RegularFile => self.file(path, stat, marks)?,
            FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Fifo
            | FileType::Socket
            | FileType::Unknown => self.done.skipped += 1,
        }
        Ok(())
    }

    fn file(&mut self, path: &Inside, stat: &Stat, marks: &Marks) -> io::Result<()> {
        let identity = (stat.st_dev, stat.st_ino);
        if let Some(first) = self.linked.get(&identity).cloned() {
            return self.link(&first, path);
        }
        let mut from = self.source.read(path)?;
        let (parent, name) = parts(path)?;
        let open = self.ground.ensure(&parent, &mut |_| {})?;
        let mut to = ground::create_at(open, &name)?;
        self.done.bytes += io::copy(&mut from, &mut to)?;
        marks.put(to.as_fd(), self.owner.file_mode(stat.st_mode))?;
        if stat.st_nlink > 1 {
            self.linked.insert(identity, path.clone());
        }
        Ok(())
    }

    fn link(&mut self, first: &Inside, path: &Inside) -> io::Result<()> {
        let (first_parent, first_name) = parts(first)?;
        let (parent, name) = parts(path)?;
        let from: OwnedFd = self.ground.directory(&first_parent)?;
        debug_assert!(self.ground.standing(first).is_ok_and(|standing| standing == Standing::File));
        let to = self.ground.ensure(&parent, &mut |_| {})?;
        Ok(fs::linkat(from, first_name.as_slice(), to, name.as_slice(), AtFlags::empty())?)
    }

    fn finish(self) -> io::Result<Unpacked> {
        for (path, marks, mode) in self.directories.iter().rev() {
            marks.put(self.ground.directory(path)?.as_fd(), *mode)?;
        }
        Ok(self.done)
    }
}

#[cfg(test)]
#[path = "rootfs_tests.rs"]
mod tests;
