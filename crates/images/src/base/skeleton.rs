//! The uppermost layer below every sandbox's own: what must be there, whatever the base is.
//!
//! Directories to mount on, the two accounts that we need, and a network's files that say that there is none. It is
//! written once per image. Directories of it that a base has too are merged, files replace those of the base.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
    os::fd::AsFd,
    path::Path,
};

use rustix::fs::{self, Timespec};

use super::{
    Accounts, BaseError, Digest, Owner,
    accounts::AGENT,
    ground::{self, Ground, Inside, Marks, Standing},
};

/// Something that exists inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkeletonEntry {
    /// Absolute, inside.
    pub path: String,
    pub kind: SkeletonKind,
    pub user: u32,
    pub group: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkeletonKind {
    Directory { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Symlink { target: String },
}

impl SkeletonEntry {
    /// A directory that belongs to root and that everyone may read.
    pub fn directory(path: impl Into<String>) -> Self {
        Self::of_root(path.into(), SkeletonKind::Directory { mode: 0o755 })
    }

    /// A file that belongs to root and that everyone may read.
    pub fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self::of_root(path.into(), SkeletonKind::File { mode: 0o644, content: content.into() })
    }

    pub fn symlink(path: impl Into<String>, target: impl Into<String>) -> Self {
        Self::of_root(path.into(), SkeletonKind::Symlink { target: target.into() })
    }

    fn of_root(path: String, kind: SkeletonKind) -> Self {
        Self { path, kind, user: 0, group: 0 }
    }
}

/// How many repositories' objects there is a place for.
pub const MIRRORS: usize = 16;

const NO_NAMES: &str = "# There is no name server here. A sandbox reaches the world only through what its egress rules give it.\n";

/// What every sandbox stands on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skeleton(BTreeMap<String, SkeletonEntry>);

impl Skeleton {
    /// For a base with these accounts, and a machine with this name.
    pub fn new(accounts: &Accounts, hostname: &str) -> Self {
        let mut skeleton = Self::default();
        for path in ["/proc", "/sys", "/dev", "/run", "/etc", "/home", "/var", "/.lamp"] {
            skeleton.add(SkeletonEntry::directory(path));
        }
        for number in 0..MIRRORS {
            skeleton.add(SkeletonEntry::directory(format!("/.lamp/git/{number}/objects")));
        }
        for path in ["/tmp", "/var/tmp"] {
            let kind = SkeletonKind::Directory { mode: 0o1777 };
            skeleton.add(SkeletonEntry::of_root(path.to_owned(), kind));
        }
        for path in ["/workspace", accounts.home.as_str()] {
            let kind = SkeletonKind::Directory { mode: 0o755 };
            skeleton.add(SkeletonEntry { path: path.to_owned(), kind, user: AGENT, group: AGENT });
        }
        let hosts = format!("127.0.0.1 localhost {hostname}\n::1 localhost {hostname}\n");
        skeleton.add(SkeletonEntry::file("/etc/passwd", accounts.passwd.as_str()));
        skeleton.add(SkeletonEntry::file("/etc/group", accounts.group.as_str()));
        skeleton.add(SkeletonEntry::file("/etc/hosts", hosts));
        skeleton.add(SkeletonEntry::file("/etc/hostname", format!("{hostname}\n")));
        skeleton.add(SkeletonEntry::file("/etc/resolv.conf", NO_NAMES));
        skeleton
    }

    /// Adds one entry; what was at its path is replaced.
    pub fn add(&mut self, entry: SkeletonEntry) {
        self.0.insert(entry.path.clone(), entry);
    }

    /// In the order in which they can be made: a directory before what is in it.
    pub fn entries(&self) -> impl Iterator<Item = &SkeletonEntry> {
        self.0.values()
    }

    /// The name of all of it: two skeletons with one digest are the same.
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        for SkeletonEntry { path, kind, user, group } in self.entries() {
            let kind = match kind {
                SkeletonKind::Directory { mode } => format!("d {mode:o}"),
                SkeletonKind::File { mode, content } => {
                    format!("f {mode:o} {}", Digest::of(content))
                }
                SkeletonKind::Symlink { target } => format!("l {target:?}"),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{path:?} {user} {group} {kind}");
        }
        Digest::of(text.as_bytes())
    }

    /// Writes it into a directory, which is a layer then. Parents that are not told of are root's, and readable.
    pub fn write(&self, layer: &Path, owner: Owner) -> Result<(), BaseError> {
        let mut writing = Writing {
            ground: Ground::open(layer).map_err(BaseError::host("open", layer))?,
            owner,
            directories: BTreeMap::from([(Inside::default(), (0o755, 0, 0))]),
        };
        for entry in self.entries() {
            let path = Inside::parse(entry.path.trim_start_matches('/').as_bytes());
            let path = path.map_err(|refused| {
                BaseError::refused(format!(
                    "`{}` cannot be in a skeleton: it {refused}",
                    entry.path
                ))
            })?;
            let place = layer.join(path.as_path());
            writing.entry(&path, entry).map_err(BaseError::host("write", &place))?;
        }
        writing.finish().map_err(BaseError::host("finish", layer))
    }
}

impl Extend<SkeletonEntry> for Skeleton {
    fn extend<I: IntoIterator<Item = SkeletonEntry>>(&mut self, entries: I) {
        for entry in entries {
            self.add(entry);
        }
    }
}

struct Writing {
    ground: Ground,
    owner: Owner,
    /// Mode, user, group; given at the end.
    directories: BTreeMap<Inside, (u32, u32, u32)>,
}

impl Writing {
    fn entry(&mut self, path: &Inside, entry: &SkeletonEntry) -> io::Result<()> {
        let Some((parent, name)) = path.split() else { return Ok(()) };
        let marks = marks(self.owner, entry.user, entry.group)?;
        let mut made = Vec::new();
        let open = self.ground.ensure(&parent, &mut |directory| made.push(directory.clone()))?;
        match &entry.kind {
            SkeletonKind::Directory { mode } => {
                if ground::standing_at(open, name)? == Standing::Nothing {
                    fs::mkdirat(open, name, fs::Mode::RWXU)?;
                }
                self.directories.insert(path.clone(), (*mode, entry.user, entry.group));
            }
            SkeletonKind::File { mode, content } => {
                let mut file = ground::create_at(open, name)?;
                file.write_all(content)?;
                marks.put(file.as_fd(), self.owner.file_mode(*mode))?;
            }
            SkeletonKind::Symlink { target } => {
                fs::symlinkat(target.as_str(), open, name)?;
                marks.put_at(open, name)?;
            }
        }
        self.directories.extend(made.into_iter().map(|directory| (directory, (0o755, 0, 0))));
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        for (path, (mode, user, group)) in self.directories.iter().rev() {
            let open = self.ground.directory(path)?;
            marks(self.owner, *user, *group)?
                .put(open.as_fd(), self.owner.directory_mode(*mode))?;
        }
        Ok(())
    }
}

/// Without a date: the same skeleton is the same to the byte.
fn marks(owner: Owner, user: u32, group: u32) -> io::Result<Marks> {
    let stored = owner.stored(user.into(), group.into());
    let stored = stored.map_err(|id| io::Error::other(format!("the id {} is too large", id.0)))?;
    Ok(Marks { stored, modified: Timespec { tv_sec: 0, tv_nsec: 0 } })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use crate::base::testing::{owner, stored};

    #[test]
    fn a_skeleton_has_all_that_a_sandbox_needs() {
        let layer = tempfile::tempdir().unwrap();
        let mut skeleton = Skeleton::new(&Accounts::ours(), "lamp");
        skeleton.extend([
            SkeletonEntry::symlink("/bin", "usr/bin"),
            SkeletonEntry::directory("/opt/tools/deep"),
        ]);
        skeleton.write(layer.path(), owner()).unwrap();

        let of = |path: &str| layer.path().join(path).symlink_metadata().unwrap();
        for path in ["proc", "sys", "dev", "run", ".lamp", "opt/tools/deep"] {
            assert!(of(path).is_dir(), "{path}");
            assert_eq!(
                (of(path).uid(), of(path).permissions().mode() & 0o7777),
                (stored(0), 0o755)
            );
        }
        for path in ["tmp", "var/tmp"] {
            assert_eq!(of(path).permissions().mode() & 0o7777, 0o1777);
        }
        for path in ["workspace", "home/lamp"] {
            assert_eq!((of(path).uid(), of(path).gid()), (stored(1_000), stored(1_000)), "{path}");
        }
        assert_eq!(of("home").uid(), stored(0));
        assert_eq!(std::fs::read_link(layer.path().join("bin")).unwrap(), Path::new("usr/bin"));
        let read = |path: &str| std::fs::read_to_string(layer.path().join(path)).unwrap();
        insta::assert_snapshot!(read("etc/passwd"), @r"
        root:x:0:0:root:/root:/bin/sh
        lamp:x:1000:1000:Lamplighter:/home/lamp:/bin/sh
        nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
        ");
        assert!(read("etc/resolv.conf").starts_with("# There is no name server here."));
        assert_eq!(read("etc/hosts"), "127.0.0.1 localhost lamp\n::1 localhost lamp\n");
    }

    #[test]
    fn a_skeleton_is_known_by_its_content() {
        let one = Skeleton::new(&Accounts::ours(), "lamp");
        let mut other = one.clone();
        assert_eq!(one.digest(), other.digest());
        other.add(SkeletonEntry::file("/etc/hosts", "elsewhere"));
        assert_ne!(one.digest(), other.digest());
    }

    #[test]
    fn a_path_that_leaves_is_refused() {
        let layer = tempfile::tempdir().unwrap();
        let mut skeleton = Skeleton::default();
        skeleton.add(SkeletonEntry::file("/../x", "y"));
        let refused = skeleton.write(layer.path(), owner()).unwrap_err();
        insta::assert_snapshot!(refused, @"`/../x` cannot be in a skeleton: it has `..` in it");
    }
}
