//! Unpacks a tar into an empty directory. The tar is hostile.
//!
//! | what | becomes |
//! |---|---|
//! | directory, file, symbolic link | the same, with shifted ids |
//! | hard link | a link to a file that this archive made before |
//! | `.wh.x`, `.wh..wh..opq`, in a layer of an image | the overlay's own marks |
//! | device, pipe, anything below `/.lamp` | nothing; it is counted |
//! | extended attributes, capabilities | nothing |
//! | sparse file, unknown kind, name that leaves | the end of it |
//!
//! A later entry replaces an earlier one of the same name, except for a directory with something in it. The modes of
//! directories are set last, because a directory that nobody may write into must be filled first.

mod meter;
mod whiteout;

use std::{
    collections::BTreeMap,
    io::{self, Read},
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

use rustix::fs::{self, AtFlags, Timespec};
use tar::{Archive, Entry, EntryType};

use self::{
    meter::{Meter, Metered},
    whiteout::Mark,
};
use super::{
    BaseError, Owner,
    ground::{self, Ground, Inside, Marks, Standing},
};

/// What an archive may be at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub entries: u64,
    /// Unpacked, headers included.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 2_000_000, bytes: 64 << 30 }
    }
}

/// Whether names that begin with `.wh.` hide what is in the layers below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whiteouts {
    Translated,
    /// They are files like any other: there is no layer below.
    Ordinary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub owner: Owner,
    pub whiteouts: Whiteouts,
    pub limits: Limits,
}

/// What was unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpacked {
    pub entries: u64,
    /// Of files.
    pub bytes: u64,
    pub whiteouts: u64,
    /// Devices, pipes, and what is ours.
    pub skipped: u64,
}

/// The first name that belongs to us in every sandbox.
pub(super) const RESERVED: &[u8] = b".lamp";

/// Unpacks `input`, and reads it to its end, into the empty directory `into`.
pub fn unpack(input: impl Read, into: &Path, rules: &Rules) -> Result<Unpacked, BaseError> {
    let meter = Meter::new(rules.limits.bytes);
    let mut archive = Archive::new(Metered::new(input, &meter));
    let mut unpacking = Unpacking {
        ground: Ground::open(into).map_err(BaseError::host("open", into))?,
        rules: *rules,
        directories: BTreeMap::from([(Inside::default(), Directory::implied())]),
        done: Unpacked::default(),
    };
    let broken = |error: io::Error| meter.refusal(&error, "the archive cannot be read");
    let mut entries = archive.entries().map_err(broken)?;
    loop {
        meter.expect_headers();
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(broken)?;
        unpacking.count()?;
        let name =
            String::from_utf8_lossy(&entry.path_bytes()).chars().take(80).collect::<String>();
        meter.expect_content();
        unpacking.take(&mut entry).map_err(|trouble| trouble.at(&name, &meter))?;
        // What nobody wanted is read here, because it is no header.
        io::copy(&mut entry, &mut io::sink()).map_err(broken)?;
    }
    meter.expect_content();
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(broken)?;
    unpacking.finish().map_err(BaseError::host("finish", into))
}

/// Why an entry cannot be taken.
enum Trouble {
    Refused(String),
    Io(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for Trouble {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl Trouble {
    fn at(self, name: &str, meter: &Meter) -> BaseError {
        let name = name.escape_debug();
        match self {
            Self::Refused(reason) => BaseError::refused(format!("the entry `{name}` {reason}")),
            Self::Io(error) => {
                meter.refusal(&error, &format!("the entry `{name}` cannot be unpacked"))
            }
        }
    }
}

/// What an entry is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
    Symlink,
    HardLink,
    /// A device or a pipe.
    Node,
    /// For all entries; only harmless ones come this far.
    Comment,
    Unknown(char),
}

impl Kind {
    fn of(kind: EntryType, name: &[u8]) -> Self {
        // Very old archives know directories only by their name.
        let is_old_directory = kind.is_file() && name.last() == Some(&b'/');
        let kinds = [
            (kind.is_dir() || is_old_directory, Self::Directory),
            (kind.is_file(), Self::File),
            (kind.is_symlink(), Self::Symlink),
            (kind.is_hard_link(), Self::HardLink),
            (kind.is_block_special() || kind.is_character_special() || kind.is_fifo(), Self::Node),
            (kind.is_pax_global_extensions(), Self::Comment),
        ];
        let found = kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind));
        found.unwrap_or_else(|| Self::Unknown(char::from(kind.as_byte())))
    }
}

#[derive(Clone, Copy)]
struct Directory {
    mode: u32,
    user: u64,
    group: u64,
    modified: u64,
}

impl Directory {
    /// One that an archive has something in, without telling of it.
    fn implied() -> Self {
        Self { mode: 0o755, user: 0, group: 0, modified: 0 }
    }
}

struct Unpacking {
    ground: Ground,
    rules: Rules,
    directories: BTreeMap<Inside, Directory>,
    done: Unpacked,
}

impl Unpacking {
    fn count(&mut self) -> Result<(), BaseError> {
        self.done.entries += 1;
        let most = self.rules.limits.entries;
        if self.done.entries <= most {
            return Ok(());
        }
        Err(BaseError::refused(format!("the archive has more than {most} entries")))
    }

    fn take<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), Trouble> {
        refuse_oddities(entry)?;
        let name = entry.path_bytes().into_owned();
        let kind = Kind::of(entry.header().entry_type(), &name);
        if kind == Kind::Comment {
            return Ok(());
        }
        let path = inside(&name)?;
        let is_ours = path.as_bytes().split(|byte| *byte == b'/').next() == Some(RESERVED);
        if is_ours || kind == Kind::Node {
            self.done.skipped += 1;
            return Ok(());
        }
        if self.rules.whiteouts == Whiteouts::Translated
            && let Some(mark) = Mark::of(&path)
        {
            return self.mark(mark?);
        }
        match kind {
            Kind::Directory => self.directory(&path, entry),
            Kind::File => self.file(&path, entry),
            Kind::Symlink => self.symlink(&path, entry),
            Kind::HardLink => self.hard_link(&path, entry),
            Kind::Comment | Kind::Node => Ok(()),
            Kind::Unknown(kind) => {
                Err(Trouble::Refused(format!("is of an unknown kind, {kind:?}")))
            }
        }
    }

    fn directory<R: Read>(&mut self, path: &Inside, entry: &Entry<'_, R>) -> Result<(), Trouble> {
        let told = Directory {
            mode: entry.header().mode()?,
            user: entry.header().uid()?,
            group: entry.header().gid()?,
            modified: entry.header().mtime()?,
        };
        self.marks(told.user, told.group, told.modified)?;
        let standing = self.standing(path)?;
        if standing != Standing::Directory {
            self.ground.remove(path, standing)?;
        }
        let directory = ensure(&mut self.ground, &mut self.directories, path)?;
        if standing == Standing::Whiteout {
            // The archive removed the one below, and made a new one.
            ground::make_opaque(directory, self.rules.owner)?;
        }
        self.directories.insert(path.clone(), told);
        Ok(())
    }

    fn file<R: Read>(&mut self, path: &Inside, entry: &mut Entry<'_, R>) -> Result<(), Trouble> {
        let marks = self.marks_of(entry)?;
        let mode = self.rules.owner.file_mode(entry.header().mode()?);
        let size = entry.size();
        let (parent, name) = self.place(path)?;
        let mut file = ground::create_at(parent, &name)?;
        let copied = io::copy(entry, &mut file)?;
        if copied != size {
            return Err(Trouble::Refused("is cut off: the archive ends in it".to_owned()));
        }
        marks.put(file.as_fd(), mode)?;
        self.done.bytes += copied;
        Ok(())
    }

    fn symlink<R: Read>(&mut self, path: &Inside, entry: &Entry<'_, R>) -> Result<(), Trouble> {
        let marks = self.marks_of(entry)?;
        let target = link_target(entry)?;
        let (parent, name) = self.place(path)?;
        fs::symlinkat(target.as_slice(), parent, name.as_slice())?;
        Ok(marks.put_at(parent, &name)?)
    }

    fn hard_link<R: Read>(&mut self, path: &Inside, entry: &Entry<'_, R>) -> Result<(), Trouble> {
        let target = inside(&link_target(entry)?)?;
        match self.standing(&target)? {
            Standing::File | Standing::Symlink if target != *path => {}
            Standing::File | Standing::Symlink => return Ok(()),
            Standing::Nothing | Standing::Directory | Standing::Whiteout | Standing::Other => {
                let target = target.as_path().display();
                return Err(Trouble::Refused(format!(
                    "links to `{target}`, which is no file in here"
                )));
            }
        }
        let (parent, target_name) =
            target.split().ok_or_else(|| Trouble::Refused("links to nothing".to_owned()))?;
        let target_parent = self.ground.directory(&parent)?;
        let (parent, name) = self.place(path)?;
        Ok(fs::linkat(target_parent, target_name, parent, name.as_slice(), AtFlags::empty())?)
    }

    fn mark(&mut self, mark: Mark) -> Result<(), Trouble> {
        match mark {
            Mark::Opaque { directory } => {
                let open = ensure(&mut self.ground, &mut self.directories, &directory)?;
                ground::make_opaque(open, self.rules.owner)?;
            }
            Mark::Hidden { path } => match self.standing(&path)? {
                Standing::Nothing => {
                    let (parent, name) = self.place(&path)?;
                    ground::whiteout_at(parent, &name)?;
                }
                // It hides only what is below; this archive has one of its own.
                Standing::Directory => {
                    let open = ensure(&mut self.ground, &mut self.directories, &path)?;
                    ground::make_opaque(open, self.rules.owner)?;
                }
                Standing::Whiteout | Standing::File | Standing::Symlink | Standing::Other => {}
            },
            Mark::Foreign => {
                self.done.skipped += 1;
                return Ok(());
            }
        }
        self.done.whiteouts += 1;
        Ok(())
    }

    fn standing(&self, path: &Inside) -> Result<Standing, Trouble> {
        self.ground.standing(path).map_err(on_the_way)
    }

    /// The directory for a new entry, with nothing at its name any more.
    fn place(&mut self, path: &Inside) -> Result<(BorrowedFd<'_>, Vec<u8>), Trouble> {
        let Some((parent, name)) = path.split() else {
            return Err(Trouble::Refused("has no name".to_owned()));
        };
        let name = name.to_vec();
        let open = ensure(&mut self.ground, &mut self.directories, &parent)?;
        let standing = ground::standing_at(open, &name)?;
        if standing != Standing::Nothing {
            self.ground.remove(path, standing).map_err(|error| {
                if error.kind() == io::ErrorKind::DirectoryNotEmpty {
                    return Trouble::Refused("replaces a directory that is not empty".to_owned());
                }
                Trouble::Io(error)
            })?;
            self.directories.remove(path);
        }
        Ok((ensure(&mut self.ground, &mut self.directories, &parent)?, name))
    }

    fn marks_of<R: Read>(&self, entry: &Entry<'_, R>) -> Result<Marks, Trouble> {
        let header = entry.header();
        self.marks(header.uid()?, header.gid()?, header.mtime()?)
    }

    fn marks(&self, user: u64, group: u64, modified: u64) -> Result<Marks, Trouble> {
        let stored = self.rules.owner.stored(user, group).map_err(|id| {
            Trouble::Refused(format!("belongs to the id {}, and a sandbox has only 65536", id.0))
        })?;
        Ok(Marks { stored, modified: timespec(modified) })
    }

    fn finish(self) -> io::Result<Unpacked> {
        for (path, told) in self.directories.iter().rev() {
            let stored = self.rules.owner.stored(told.user, told.group);
            let stored = stored.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            let marks = Marks { stored, modified: timespec(told.modified) };
            let open = self.ground.directory(path)?;
            marks.put(open.as_fd(), self.rules.owner.directory_mode(told.mode))?;
        }
        Ok(self.done)
    }
}

/// Opens a directory; those that have to be made for it are remembered, so that they get their marks.
fn ensure<'g>(
    ground: &'g mut Ground,
    directories: &mut BTreeMap<Inside, Directory>,
    path: &Inside,
) -> Result<BorrowedFd<'g>, Trouble> {
    let mut remember = |made: &Inside| {
        directories.insert(made.clone(), Directory::implied());
    };
    ground.ensure(path, &mut remember).map_err(on_the_way)
}

/// A link or a file where a directory should be is the archive's fault, not the host's.
fn on_the_way(error: io::Error) -> Trouble {
    use rustix::io::Errno;
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => {
            Trouble::Refused("goes through something that is not a directory".to_owned())
        }
        _ => Trouble::Io(error),
    }
}

fn inside(name: &[u8]) -> Result<Inside, Trouble> {
    Inside::parse(name)
        .map_err(|refused| Trouble::Refused(format!("is refused: its path {refused}")))
}

fn link_target<R: Read>(entry: &Entry<'_, R>) -> Result<Vec<u8>, Trouble> {
    let target = entry.link_name_bytes().map(std::borrow::Cow::into_owned).unwrap_or_default();
    if target.is_empty() || target.contains(&0) || target.len() > ground::LONGEST_PATH {
        return Err(Trouble::Refused("is a link without a usable target".to_owned()));
    }
    Ok(target)
}

/// Sparse files, and headers that speak for all that follow: two readers could see two different archives.
fn refuse_oddities<R: Read>(entry: &mut Entry<'_, R>) -> Result<(), Trouble> {
    let kind = entry.header().entry_type();
    if kind == EntryType::GNUSparse {
        return Err(Trouble::Refused("is sparse, which is not supported".to_owned()));
    }
    let is_global = kind == EntryType::XGlobalHeader;
    if is_global && entry.size() > meter::HEADERS {
        return Err(Trouble::Refused("is too large a header".to_owned()));
    }
    let Some(extensions) = entry.pax_extensions()? else { return Ok(()) };
    for extension in extensions {
        let key = match &extension {
            Ok(extension) => extension.key_bytes(),
            // The value of an attribute may look like anything; attributes are dropped.
            Err(_) => b"",
        };
        if key.starts_with(b"GNU.sparse.") {
            return Err(Trouble::Refused("is sparse, which is not supported".to_owned()));
        }
        if is_global && key != b"comment" {
            return Err(Trouble::Refused("is a header that speaks for all entries".to_owned()));
        }
    }
    Ok(())
}

/// Dates beyond the year 36,000 are not worth an error.
fn timespec(seconds: u64) -> Timespec {
    let seconds = i64::try_from(seconds.min(1 << 40)).unwrap_or_default();
    Timespec { tv_sec: seconds, tv_nsec: 0 }
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
