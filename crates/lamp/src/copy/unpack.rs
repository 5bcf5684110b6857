//! Unpacks an archive that came out of a sandbox, and believes nothing in it (abuse case 44).
//!
//! | in the archive | here |
//! |---|---|
//! | `..`, an absolute name, an empty one, one that is too long | refused |
//! | a name that leads through a link, also one that the archive made | refused by the kernel (`openat2`) |
//! | a device, a pipe, a sparse file, anything unusual | refused |
//! | setuid, setgid, sticky | stripped; the umask applies |
//! | a link that leads out of the target, or could | left out, and counted |
//! | a hard link | only to a file that is already below the target |
//! | more entries or bytes than allowed | refused |
//!
//! A file that exists is replaced, never written through. What was refused stops the work; what was unpacked before
//! stays.

use std::{
    ffi::OsStr,
    io::{self, Read},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Component, Path, PathBuf},
};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags};
use tar::{Archive, Entry, EntryType};

/// How much an archive may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unpacked {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Links that lead out of the target, and were left out.
    pub(crate) links_left_out: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpackError {
    #[error("the archive names `{0}`, which does not stay below the target")]
    Name(String),
    #[error("the archive holds `{0}`, which is neither a file, a directory nor a link")]
    Kind(String),
    #[error("the archive has a name longer than {LONGEST_NAME} bytes")]
    LongName,
    #[error("the archive has more than {0} entries")]
    TooMany(u64),
    #[error("the archive has more than {0} bytes")]
    TooLarge(u64),
    #[error("`{path}`: {source}")]
    Place { path: String, source: io::Error },
    #[error("the archive cannot be read: {0}")]
    Archive(#[from] io::Error),
}

/// What Linux allows for a path.
const LONGEST_NAME: u64 = 4096;

/// What an entry may be.
enum Kind {
    File,
    Directory,
    Symlink,
    HardLink,
}

impl Kind {
    fn of(kind: EntryType) -> Option<Self> {
        let known = [
            (kind.is_file() || kind.is_contiguous(), Self::File),
            (kind.is_dir(), Self::Directory),
            (kind.is_symlink(), Self::Symlink),
            (kind.is_hard_link(), Self::HardLink),
        ];
        known.into_iter().find(|(is_it, _)| *is_it).map(|(_, kind)| kind)
    }
}

/// Unpacks below `target`, which exists. Runs in a thread that may block.
pub(crate) fn unpack(
    from: impl Read,
    target: &OwnedFd,
    limits: Limits,
) -> Result<Unpacked, UnpackError> {
    let mut unpacked = Unpacked::default();
    let mut archive = Archive::new(from);
    // Raw: the names that are too long for a header come as entries of their own, so that they can be bounded.
    let (mut long_name, mut long_link) = (None, None);
    let mut entries = 0u64;
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        entries += 1;
        if entries > limits.entries {
            return Err(UnpackError::TooMany(limits.entries));
        }
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() {
            long_name = Some(read_name(&mut entry)?);
            continue;
        }
        if kind.is_gnu_longlink() {
            long_link = Some(read_name(&mut entry)?);
            continue;
        }
        let name = long_name.take().unwrap_or_else(|| entry.header().path_bytes().into_owned());
        let link =
            long_link.take().or_else(|| Some(entry.header().link_name_bytes()?.into_owned()));
        let Some(name) = confined(&name)? else { continue };
        place(&mut entry, &name, link, target, limits, &mut unpacked)?;
    }
    Ok(unpacked)
}

/// The name in an entry of its own.
fn read_name(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>, UnpackError> {
    let size = entry.header().entry_size()?;
    if size > LONGEST_NAME {
        return Err(UnpackError::LongName);
    }
    let mut name = Vec::new();
    entry.take(LONGEST_NAME).read_to_end(&mut name)?;
    while name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

/// The name as a path of plain words; `None` for the target itself.
fn confined(name: &[u8]) -> Result<Option<PathBuf>, UnpackError> {
    let refused = || UnpackError::Name(shown(name));
    if name.is_empty() || name.contains(&0) || name.len() as u64 > LONGEST_NAME {
        return Err(refused());
    }
    let mut words = PathBuf::new();
    for word in Path::new(OsStr::from_bytes(name)).components() {
        match word {
            Component::CurDir => {}
            Component::Normal(word) => words.push(word),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(refused());
            }
        }
    }
    Ok((!words.as_os_str().is_empty()).then_some(words))
}

/// A name for people, in which nothing can speak to their terminal.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name)
        .chars()
        .take(200)
        .map(|c| if c.is_control() { '�' } else { c })
        .collect()
}

fn place(
    entry: &mut Entry<'_, impl Read>,
    name: &Path,
    link: Option<Vec<u8>>,
    target: &OwnedFd,
    limits: Limits,
    unpacked: &mut Unpacked,
) -> Result<(), UnpackError> {
    let unusual = || UnpackError::Kind(shown(name.as_os_str().as_bytes()));
    let kind = Kind::of(entry.header().entry_type()).ok_or_else(unusual)?;
    let at =
        |source: io::Error| UnpackError::Place { path: shown(name.as_os_str().as_bytes()), source };
    let mode = entry.header().mode().unwrap_or(0o644);
    let (parent, word) =
        (name.parent().unwrap_or(Path::new("")), name.file_name().unwrap_or_default());
    let directory = make_directories(target, parent).map_err(at)?;
    match kind {
        Kind::Directory => make_directory(&directory, word, mode).map_err(at),
        Kind::File => {
            let size = entry.header().entry_size()?;
            if size > limits.bytes.saturating_sub(unpacked.bytes) {
                return Err(UnpackError::TooLarge(limits.bytes));
            }
            let mut file = std::fs::File::from(new_file(&directory, word, mode).map_err(at)?);
            let written = io::copy(&mut entry.take(size), &mut file).map_err(at)?;
            if written < size {
                return Err(at(io::Error::from(io::ErrorKind::UnexpectedEof)));
            }
            unpacked.files += 1;
            unpacked.bytes += written;
            Ok(())
        }
        Kind::Symlink => {
            let depth = parent.components().count();
            let link = link.filter(|link| stays_below(link, depth));
            let Some(link) = link else {
                unpacked.links_left_out += 1;
                return Ok(());
            };
            make_way(&directory, word).map_err(at)?;
            fs::symlinkat(OsStr::from_bytes(&link), &directory, word)
                .map_err(|error| at(error.into()))
        }
        Kind::HardLink => {
            let to = confined(&link.unwrap_or_default())?;
            let to = to.ok_or_else(unusual)?;
            hard_link(target, &to, &directory, word).map_err(at)
        }
    }
}

/// Whether a link, made in a directory so deep below the target, stays below it, whatever else is linked there.
///
/// It may go up at its beginning, where it stands on real directories, and nowhere else: behind another link a `..`
/// would lead somewhere else than it seems.
fn stays_below(link: &[u8], depth: usize) -> bool {
    if link.is_empty() || link.contains(&0) || link.len() as u64 > LONGEST_NAME {
        return false;
    }
    let words: Vec<Component<'_>> = Path::new(OsStr::from_bytes(link)).components().collect();
    let ups = words.iter().take_while(|word| matches!(word, Component::ParentDir)).count();
    let rest = words.iter().skip(ups);
    let is_plain = |word: &Component<'_>| matches!(word, Component::Normal(_) | Component::CurDir);
    ups <= depth && rest.into_iter().all(is_plain)
}

/// The directory of this name below the target, made as far as it is missing. No word of it may be a link.
fn make_directories(target: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let mut directory = rustix::io::dup(target)?;
    for word in path.components() {
        let word = word.as_os_str();
        directory = match enter(&directory, word) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::mkdirat(&directory, word, Mode::from_raw_mode(0o755))?;
                enter(&directory, word)?
            }
            entered => entered?,
        };
    }
    Ok(directory)
}

/// One step down: a directory, and neither a link nor a way to another file system's magic.
fn enter(directory: &OwnedFd, word: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(fs::openat2(directory, word, flags, Mode::empty(), resolve)?)
}

fn make_directory(parent: &OwnedFd, word: &OsStr, mode: u32) -> io::Result<()> {
    match fs::mkdirat(parent, word, Mode::from_raw_mode((mode & 0o777) | 0o700)) {
        Ok(()) => Ok(()),
        // It may have been made for an entry below it, or have been there before.
        Err(rustix::io::Errno::EXIST) => enter(parent, word).map(drop),
        Err(error) => Err(error.into()),
    }
}

/// A file that nobody has had before.
fn new_file(directory: &OwnedFd, word: &OsStr, mode: u32) -> io::Result<OwnedFd> {
    make_way(directory, word)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode((mode & 0o777) | 0o600);
    Ok(fs::openat(directory, word, flags, mode)?)
}

/// Removes what is in the way, unless it is a directory.
fn make_way(directory: &OwnedFd, word: &OsStr) -> io::Result<()> {
    match fs::unlinkat(directory, word, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn hard_link(target: &OwnedFd, to: &Path, directory: &OwnedFd, word: &OsStr) -> io::Result<()> {
    let mut place = rustix::io::dup(target)?;
    for above in to.parent().into_iter().flat_map(Path::components) {
        place = enter(&place, above.as_os_str())?;
    }
    let last = to.file_name().unwrap_or_default();
    let found = fs::statat(&place, last, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("a hard link to something that is not a file"));
    }
    make_way(directory, word)?;
    fs::linkat(&place, last, directory, word, AtFlags::empty())?;
    Ok(())
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
