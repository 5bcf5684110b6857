//! A directory that nothing can leave.
//!
//! All that is done to a layer goes through its file descriptor. A path is a list of plain names; the kernel resolves
//! it beneath the directory and refuses every symbolic link on the way, so that no order of entries leads outside.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps, XattrFlags},
    io::Errno,
};

use super::owner::{Owner, Stored};

/// A path inside, of plain names: never up, never absolute. Empty: the directory itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Inside(Vec<u8>);

pub(crate) const LONGEST_NAME: usize = 255;
pub(crate) const LONGEST_PATH: usize = 4_095;
pub(crate) const DEEPEST: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathRefused {
    #[error("is absolute")]
    Absolute,
    #[error("has `..` in it")]
    Up,
    #[error("has a zero byte in it")]
    Zero,
    #[error("is longer than {LONGEST_PATH} bytes, or a name in it is longer than {LONGEST_NAME}")]
    Long,
    #[error("is deeper than {DEEPEST} directories")]
    Deep,
}

impl Inside {
    pub(crate) fn parse(path: &[u8]) -> Result<Self, PathRefused> {
        if path.first() == Some(&b'/') {
            return Err(PathRefused::Absolute);
        }
        if path.contains(&0) {
            return Err(PathRefused::Zero);
        }
        if path.len() > LONGEST_PATH {
            return Err(PathRefused::Long);
        }
        let names: Vec<&[u8]> = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty() && *name != b".")
            .collect();
        if names.contains(&&b".."[..]) {
            return Err(PathRefused::Up);
        }
        if names.iter().any(|name| name.len() > LONGEST_NAME) {
            return Err(PathRefused::Long);
        }
        if names.len() > DEEPEST {
            return Err(PathRefused::Deep);
        }
        Ok(Self(names.join(&b'/')))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The directory that it is in, and its name there. The root has neither.
    pub(crate) fn split(&self) -> Option<(Self, &[u8])> {
        if self.is_root() {
            return None;
        }
        let cut = self.0.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = match cut {
            Some(cut) => (self.0.get(..cut)?, self.0.get(cut + 1..)?),
            None => (&[][..], self.0.as_slice()),
        };
        Some((Self(parent.to_vec()), name))
    }

    /// `name` must be one plain name.
    pub(crate) fn join(&self, name: &[u8]) -> Result<Self, PathRefused> {
        let parts = if self.is_root() { vec![name] } else { vec![self.0.as_slice(), name] };
        Self::parse(&parts.join(&b'/'))
    }
}

/// How an overlay is told that a directory hides what is below it.
pub(crate) fn opaque_attribute(owner: Owner) -> &'static str {
    match owner.base {
        Some(_) => "trusted.overlay.opaque",
        None => "user.overlay.opaque",
    }
}

pub(crate) struct Ground {
    root: OwnedFd,
    /// The directory of the last entry. Archives come directory by directory.
    last: Option<(Inside, OwnedFd)>,
}

/// What stands at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Nothing,
    Directory,
    /// A character device 0:0, which is how an overlay hides what is below.
    Whiteout,
    File,
    Symlink,
    Other,
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const CONFINED: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

impl Ground {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let root = fs::open(path, DIRECTORY, Mode::empty())?;
        Ok(Self { root, last: None })
    }

    pub(crate) fn directory(&self, path: &Inside) -> io::Result<OwnedFd> {
        let path = if path.is_root() { Path::new(".") } else { path.as_path() };
        Ok(fs::openat2(&self.root, path, DIRECTORY, Mode::empty(), CONFINED)?)
    }

    /// Opens a regular file for reading; nothing else can make the caller wait or act.
    pub(crate) fn read(&self, path: &Inside) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file =
            File::from(fs::openat2(&self.root, path.as_path(), flags, Mode::empty(), CONFINED)?);
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }

    pub(crate) fn standing(&self, path: &Inside) -> io::Result<Standing> {
        let Some((parent, name)) = path.split() else { return Ok(Standing::Directory) };
        match self.directory(&parent) {
            Ok(parent) => standing_at(parent.as_fd(), name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Standing::Nothing),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn is_opaque(&self, path: &Inside, owner: Owner) -> io::Result<bool> {
        let mut value = [0; 4];
        match fs::fgetxattr(self.directory(path)?, opaque_attribute(owner), &mut value) {
            Ok(length) => Ok(value.get(..length) == Some(b"y")),
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a directory, and makes it and those above where they are missing. `made` is called for each.
    pub(crate) fn ensure(
        &mut self,
        path: &Inside,
        made: &mut dyn FnMut(&Inside),
    ) -> io::Result<BorrowedFd<'_>> {
        let is_last = self.last.as_ref().is_some_and(|(last, _)| last == path);
        if !is_last {
            let directory = match self.directory(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.make_all(path, made)?
                }
                found => found?,
            };
            self.last = Some((path.clone(), directory));
        }
        Ok(self.last.as_ref().map_or(self.root.as_fd(), |(_, directory)| directory.as_fd()))
    }

    fn make_all(&self, path: &Inside, made: &mut dyn FnMut(&Inside)) -> io::Result<OwnedFd> {
        let mut directory = self.directory(&Inside::default())?;
        let mut here = Vec::new();
        for name in path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if !here.is_empty() {
                here.push(b'/');
            }
            here.extend_from_slice(name);
            if standing_at(directory.as_fd(), name)? == Standing::Nothing {
                fs::mkdirat(&directory, name, Mode::RWXU)?;
                made(&Inside(here.clone()));
            }
            directory = fs::openat(&directory, name, DIRECTORY, Mode::empty())?;
        }
        Ok(directory)
    }

    /// Removes what stands at a name. A directory must be empty.
    pub(crate) fn remove(&mut self, path: &Inside, standing: Standing) -> io::Result<()> {
        self.last = None;
        let Some((parent, name)) = path.split() else { return Ok(()) };
        let flags = match standing {
            Standing::Nothing => return Ok(()),
            Standing::Directory => AtFlags::REMOVEDIR,
            Standing::Whiteout | Standing::File | Standing::Symlink | Standing::Other => {
                AtFlags::empty()
            }
        };
        Ok(fs::unlinkat(self.directory(&parent)?, name, flags)?)
    }
}

pub(crate) fn standing_at(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<Standing> {
    let found = match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(Standing::Nothing),
        Err(errno) => return Err(errno.into()),
    };
    Ok(match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => Standing::Directory,
        FileType::RegularFile => Standing::File,
        FileType::Symlink => Standing::Symlink,
        FileType::CharacterDevice if found.st_rdev == 0 => Standing::Whiteout,
        FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Fifo
        | FileType::Socket
        | FileType::Unknown => Standing::Other,
    })
}

/// Who owns it, and when it was last changed. The mode is apart: setting the owner clears bits of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) stored: Option<Stored>,
    pub(crate) modified: Timespec,
}

impl Marks {
    fn times(&self) -> Timestamps {
        Timestamps { last_access: self.modified, last_modification: self.modified }
    }

    pub(crate) fn put(&self, open: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        if let Some(stored) = self.stored {
            fs::fchown(open, Some(user(stored)), Some(group(stored)))?;
        }
        fs::fchmod(open, Mode::from_raw_mode(mode))?;
        Ok(fs::futimens(open, &self.times())?)
    }

    /// For what cannot be opened: a symbolic link.
    pub(crate) fn put_at(&self, parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
        if let Some(stored) = self.stored {
            let (user, group) = (user(stored), group(stored));
            fs::chownat(parent, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(fs::utimensat(parent, name, &self.times(), AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

fn user(stored: Stored) -> fs::Uid {
    fs::Uid::from_raw(stored.user)
}

fn group(stored: Stored) -> fs::Gid {
    fs::Gid::from_raw(stored.group)
}

/// Makes a new file; whatever stands there is an error.
pub(crate) fn create_at(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Hides what is below at this name. No device right is needed for it.
pub(crate) fn whiteout_at(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    Ok(fs::mknodat(parent, name, FileType::CharacterDevice, Mode::empty(), 0)?)
}

pub(crate) fn make_opaque(directory: BorrowedFd<'_>, owner: Owner) -> io::Result<()> {
    Ok(fs::fsetxattr(directory, opaque_attribute(owner), b"y", XattrFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_of_plain_names() {
        let plain = |path: &str| {
            Inside::parse(path.as_bytes()).map(|path| path.as_path().display().to_string())
        };
        assert_eq!(plain("./usr//bin/./x/"), Ok("usr/bin/x".to_owned()));
        assert_eq!(plain("./"), Ok(String::new()));
        assert_eq!(plain("a..b/..c"), Ok("a..b/..c".to_owned()));
        assert_eq!(plain("/etc"), Err(PathRefused::Absolute));
        assert_eq!(plain("a/../b"), Err(PathRefused::Up));
        assert_eq!(plain(".."), Err(PathRefused::Up));
        assert_eq!(plain("a\0b"), Err(PathRefused::Zero));
        assert_eq!(plain(&"a/".repeat(300)), Err(PathRefused::Deep));
        assert_eq!(plain(&"a".repeat(256)), Err(PathRefused::Long));
        assert_eq!(plain(&"abcdefg/".repeat(600)), Err(PathRefused::Long));
    }

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        let inside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("way")).unwrap();
        std::os::unix::fs::symlink("/proc/self/root", inside.path().join("magic")).unwrap();
        let mut ground = Ground::open(inside.path()).unwrap();
        for path in ["way/secret", "magic/etc/passwd", "way"] {
            assert!(ground.read(&Inside::parse(path.as_bytes()).unwrap()).is_err(), "{path}");
        }
        let way = Inside::parse(b"way/made").unwrap();
        assert!(ground.ensure(&way, &mut |_| {}).is_err());
        assert!(!outside.path().join("made").exists());
    }
}
