//! Unpacking an archive that anybody may have written.
//!
//! Nothing outside the directory is touched: names are checked, no link is followed, and what is neither a file, a
//! directory nor a link is refused. Bits that give privileges are dropped.

use std::{
    borrow::Cow,
    io::{self, BufReader, Read},
    os::fd::OwnedFd,
};

use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, futimens,
        linkat, openat, statat, symlinkat, unlinkat,
    },
    io::Errno,
};
use tar::{Archive, Entry, EntryType};

use super::{
    Doing, Failure,
    below::{Below, Missing, Name},
    input,
};

/// More entries than this are not a project.
const MOST_ENTRIES: u64 = 1_000_000;

pub(super) fn tar_in(path: &str) -> Result<(), Failure> {
    let mut below = Below::open(path)?;
    let mut late = Vec::new();
    let mut archive = Archive::new(BufReader::with_capacity(64 * 1024, input()?));
    let entries = archive.entries().doing(|| "the archive".to_owned())?;
    for (count, entry) in (1..).zip(entries) {
        if count > MOST_ENTRIES {
            return Err(Failure::rule(format!("the archive has more than {MOST_ENTRIES} entries")));
        }
        let mut entry =
            entry.map_err(|error| Failure::new(format!("the archive: {error}"), &error))?;
        unpack(&mut below, &mut entry, &mut late)?;
    }
    // A directory that its owner may not write to, or not enter, is closed when everything in it is there.
    for (directory, mode) in late.iter().rev() {
        fchmod_by_name(&mut below, directory, *mode)?;
    }
    // What stands behind the end of the archive is read, so that whoever writes it is not cut off.
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink()).doing(|| "the archive's end".to_owned())?;
    Ok(())
}

fn unpack(
    below: &mut Below,
    entry: &mut Entry<'_, impl Read>,
    late: &mut Vec<(Name, Mode)>,
) -> Result<(), Failure> {
    let raw_name = entry.path_bytes().into_owned();
    let shown = || String::from_utf8_lossy(&raw_name).into_owned();
    let kind = entry.header().entry_type();
    if kind == EntryType::XGlobalHeader {
        return Ok(());
    }
    let Some(name) = Name::parse(&raw_name)? else { return Ok(()) };
    let mode = Mode::from_raw_mode(entry.header().mode().doing(shown)? & 0o777);
    // Old archives mark a directory only by the end of its name.
    let old_directory = raw_name.last() == Some(&b'/') && kind == EntryType::Regular;
    if kind == EntryType::Directory || old_directory {
        let directory = below.directory(&name).doing(shown)?;
        if mode.contains(Mode::RWXU) {
            return fchmod(&directory, mode).doing(shown);
        }
        late.push((name, mode));
        return Ok(());
    }
    let target = entry.link_name_bytes().map(Cow::into_owned);
    match (kind, target) {
        (EntryType::Regular | EntryType::Continuous, _) => {
            let file = create(below, &name, mode).doing(shown)?;
            let mut file = std::fs::File::from(file);
            io::copy(entry, &mut file).doing(shown)?;
            let file = OwnedFd::from(file);
            fchmod(&file, mode).doing(shown)?;
            let modified =
                entry.header().mtime().ok().and_then(|seconds| i64::try_from(seconds).ok());
            // The time is a courtesy to tools that compare times.
            let _refused = modified.map(|seconds| futimens(&file, &modified_at(seconds)));
            Ok(())
        }
        (EntryType::Symlink, Some(target)) => {
            let parent = below.parent(&name, Missing::Make).doing(shown)?;
            clear(parent, &name).doing(shown)?;
            symlinkat(target.as_slice(), parent, name.last()).doing(shown)
        }
        (EntryType::Link, Some(target)) => link(below, &name, &target).doing_link(shown),
        _device_pipe_or_unknown => {
            Err(Failure::rule(format!("`{}` is neither a file, a directory nor a link", shown())))
        }
    }
}

fn create(below: &mut Below, name: &Name, mode: Mode) -> Result<OwnedFd, Errno> {
    let parent = below.parent(name, Missing::Make)?;
    clear(parent, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name.last(), flags, mode | Mode::WUSR)
}

/// Makes place for a file or a link. Directories are not removed.
fn clear(parent: std::os::fd::BorrowedFd<'_>, name: &Name) -> Result<(), Errno> {
    match unlinkat(parent, name.last(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Why a hard link was not made.
enum LinkError {
    Rule(Failure),
    System(Errno),
}

fn link(below: &mut Below, name: &Name, target: &[u8]) -> Result<(), LinkError> {
    let nowhere = || LinkError::System(Errno::INVAL);
    let target = Name::parse(target).map_err(LinkError::Rule)?.ok_or_else(nowhere)?;
    let from = below.parent(&target, Missing::Refuse).map_err(LinkError::System)?;
    let from =
        from.try_clone_to_owned().map_err(|_no_descriptors| LinkError::System(Errno::MFILE))?;
    let there =
        statat(&from, target.last(), AtFlags::SYMLINK_NOFOLLOW).map_err(LinkError::System)?;
    if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile {
        return Err(LinkError::System(Errno::PERM));
    }
    let parent = below.parent(name, Missing::Make).map_err(LinkError::System)?;
    if &target != name {
        clear(parent, name).map_err(LinkError::System)?;
        linkat(&from, target.last(), parent, name.last(), AtFlags::empty())
            .map_err(LinkError::System)?;
    }
    Ok(())
}

trait DoingLink {
    fn doing_link(self, what: impl FnOnce() -> String) -> Result<(), Failure>;
}

impl DoingLink for Result<(), LinkError> {
    fn doing_link(self, what: impl FnOnce() -> String) -> Result<(), Failure> {
        match self {
            Ok(()) => Ok(()),
            Err(LinkError::Rule(failure)) => Err(failure),
            Err(LinkError::System(errno)) => Err(errno).doing(what),
        }
    }
}

fn fchmod_by_name(below: &mut Below, name: &Name, mode: Mode) -> Result<(), Failure> {
    let shown = || String::from_utf8_lossy(name.last()).into_owned();
    let directory = below.directory(name).doing(shown)?;
    fchmod(&directory, mode).doing(shown)
}

fn modified_at(seconds: i64) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: 0 },
    }
}
