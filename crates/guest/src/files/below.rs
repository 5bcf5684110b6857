//! Paths below a directory, found without ever following a link.
//!
//! Every step is one name in one open directory, so that nobody who changes the tree meanwhile can lead us out of
//! it. This needs no system call that an imitation of the kernel might lack.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    fs::{AtFlags, Mode, OFlags, fstat, mkdirat, open, openat, statat},
    io::Errno,
};

use super::{Doing, Failure};

/// Where a name has more parts than this, nobody means well.
const DEEPEST: usize = 512;

/// A name in an archive, checked: no part is empty, `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    parents: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Name {
    /// `None`: the directory itself.
    pub(super) fn parse(name: &[u8]) -> Result<Option<Self>, Failure> {
        let refuse =
            |why: &str| Failure::rule(format!("`{}` {why}", String::from_utf8_lossy(name)));
        if name.first() == Some(&b'/') {
            return Err(refuse("is an absolute name"));
        }
        if name.contains(&0) {
            return Err(refuse("has a zero in it"));
        }
        let parts = name.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
        let mut parents: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
        if parents.iter().any(|part| part == b"..") {
            return Err(refuse("leads out of the directory"));
        }
        if parents.len() > DEEPEST {
            return Err(refuse("is too deep"));
        }
        Ok(parents.pop().map(|last| Self { parents, last }))
    }

    pub(super) fn last(&self) -> &[u8] {
        &self.last
    }
}

/// An open directory, and the one below it that was used last.
#[derive(Debug)]
pub(super) struct Below {
    root: OwnedFd,
    recent: Option<(Vec<Vec<u8>>, OwnedFd)>,
}

/// What to do about directories that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Refuse,
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Below {
    /// Makes the directory if it is not there. The path itself may lead through links: the host chose it.
    pub(super) fn open(path: &str) -> Result<Self, Failure> {
        match rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => {
                return Err(Failure { what: path.to_owned(), errno: errno.raw_os_error() });
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(path, flags, Mode::empty()).doing(|| path.to_owned())?;
        Ok(Self { root, recent: None })
    }

    /// The directory that the name stands in.
    pub(super) fn parent(
        &mut self,
        name: &Name,
        missing: Missing,
    ) -> Result<BorrowedFd<'_>, Errno> {
        if name.parents.is_empty() {
            return Ok(self.root.as_fd());
        }
        if self.recent.as_ref().is_none_or(|(parents, _)| *parents != name.parents) {
            self.recent = None;
            let fd = self.descend(&name.parents, missing)?;
            self.recent = Some((name.parents.clone(), fd));
        }
        Ok(self.recent.as_ref().map_or(self.root.as_fd(), |(_, fd)| fd.as_fd()))
    }

    fn descend(&self, parents: &[Vec<u8>], missing: Missing) -> Result<OwnedFd, Errno> {
        let mut here: Option<OwnedFd> = None;
        for part in parents {
            let at = here.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
            here = Some(match enter(at, part) {
                Err(Errno::NOENT) if missing == Missing::Make => {
                    mkdirat(at, part.as_slice(), Mode::from_raw_mode(0o755))?;
                    enter(at, part)?
                }
                opened => opened?,
            });
        }
        here.ok_or(Errno::INVAL)
    }

    /// Opens a directory, made if it is not there.
    pub(super) fn directory(&mut self, name: &Name) -> Result<OwnedFd, Errno> {
        let parent = self.parent(name, Missing::Make)?;
        match mkdirat(parent, name.last(), Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => enter(parent, name.last()),
            Err(errno) => Err(errno),
        }
    }
}

/// Opens a directory that stands in another, and is no link. An imitation of the kernel may follow one although it is
/// told not to, so what was opened is compared with what has the name.
fn enter(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let opened = openat(parent, name, DIRECTORY, Mode::empty())?;
    let (found, named) = (fstat(&opened)?, statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?);
    let is_same = (found.st_dev, found.st_ino) == (named.st_dev, named.st_ino);
    if is_same { Ok(opened) } else { Err(Errno::NOTDIR) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for wrong in ["/etc/passwd", "..", "../x", "a/../../b", "a/..", "a\0b"] {
            assert!(Name::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(Name::parse(&b"a/".repeat(DEEPEST + 1)).is_err());
    }

    #[test]
    fn dots_and_doubled_slashes_mean_nothing() {
        let plain = Name::parse(b"a/b").unwrap().unwrap();
        assert_eq!(Name::parse(b"./a//./b/").unwrap(), Some(plain));
        assert_eq!(Name::parse(b"./").unwrap(), None);
        assert_eq!(Name::parse(b"..a").unwrap().unwrap().last(), b"..a");
    }
}
