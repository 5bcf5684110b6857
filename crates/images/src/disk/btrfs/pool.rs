//! The file that holds a pool, the device in front of it, and its mount.
//!
//! ```text
//!  pool.btrfs ──losetup──▶ /dev/loopN ──mount──▶ pool/
//! ```
//!
//! The device clears itself with the last unmount. The mount outlives the server, which finds it again by the file system's id.
//! The file is allocated in full: a host that is full would otherwise break the pool in the middle of a write.

use std::{
    fs::File,
    io::ErrorKind,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FallocateFlags, IFlags},
    mount::{MountFlags, UnmountFlags},
};

use super::{Cannot, ioctl, program};
use crate::disk::{DiskError, error::Trying, tree::open_root};

/// A smaller pool spends itself on its own bookkeeping.
pub(super) const SMALLEST_BYTES: u64 = 256 << 20;

/// A new pool takes at most one part in this many of what is free: it is the host's disk, and we are guests on it.
const PARTS: u64 = 4;

/// Growing by less is not worth it.
const LEAST_GROWTH_BYTES: u64 = 64 << 20;

const BTRFS_MAGIC: i64 = 0x9123_683E;

/// Where the superblock keeps the id of the file system.
const ID_OFFSET: u64 = 0x1_0020;

/// Directories whose files have very high numbers. Some versions of `mkfs.btrfs` keep them; see `numbers`.
const HIGH_NUMBERS: [&str; 2] = ["/proc/pressure", "/proc/driver"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It was mounted, by a server before us.
    Mounted,
    Unmounted,
    /// It has just been made.
    New,
}

/// Makes the pool if there is none, and mounts it at the place it returns.
pub(super) fn open(root: &Path, budget_bytes: u64) -> Result<(PathBuf, Found), Cannot> {
    let (file, at) = (root.join("pool.btrfs"), root.join("pool"));
    let is_new = !file.exists();
    if is_new {
        make(root, &file, budget_bytes)?;
    }
    match std::fs::create_dir(&at) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(Cannot::Broken(DiskError::Io {
                what: format!("make {}", at.display()),
                source: error,
            }));
        }
        Ok(()) | Err(_) => {}
    }
    if is_mounted(root, &at)? {
        is_ours(&file, &at)?;
        return Ok((at, Found::Mounted));
    }
    if let Err(reason) = attach(&file, &at) {
        if is_new {
            let _ = std::fs::remove_file(&file);
            return Err(Cannot::Here(reason));
        }
        let sentence = format!("{} exists, but {reason}", file.display());
        return Err(Cannot::Broken(DiskError::Unusable(sentence)));
    }
    Ok((at, if is_new { Found::New } else { Found::Unmounted }))
}

/// Gives a pool that is there more of the host's disk, when its budget was raised or more is free. One that cannot grow stays as it is.
pub(super) fn grow(root: &Path, at: &Path, budget_bytes: u64) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let file = File::options().write(true).open(root.join("pool.btrfs")).map_err(told)?;
    let now = file.metadata().map_err(told)?.len();
    let host = rustix::fs::fstatvfs(&file).map_err(|error| told(error.into()))?;
    let free = host.f_bavail.saturating_mul(host.f_frsize);
    let size = budget_bytes.min(free.saturating_add(now) / PARTS) & !0xf_ffff;
    if size < now.saturating_add(LEAST_GROWTH_BYTES) {
        return Ok(());
    }
    let losetup = program::find("losetup").ok_or("`losetup` is missing: install util-linux")?;
    let device = device_of(at).ok_or("its device is not found")?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), now, size - now)
        .map_err(|error| told(error.into()))?;
    program::run(&losetup, &[Path::new("--set-capacity"), &device])?;
    let mounted = open_root(at).map_err(|error| error.to_string())?;
    ioctl::grow(mounted).map_err(|error| told(error.into()))
}

/// What is mounted at `at`.
fn device_of(at: &Path) -> Option<PathBuf> {
    let number = std::fs::metadata(at).ok()?.dev();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| {
        let place = line.split(' ').nth(4);
        place.is_some_and(|place| {
            // Names with odd characters are written in octal there; a device number is enough then.
            std::fs::metadata(place).is_ok_and(|found| found.dev() == number)
        })
    })?;
    let (_, after) = line.split_once(" - ")?;
    after.split(' ').nth(1).map(PathBuf::from)
}

/// Unmounts the pool. The device clears itself.
pub(super) fn close(at: &Path) -> Result<(), DiskError> {
    rustix::mount::unmount(at, UnmountFlags::NOFOLLOW).trying("unmount", at)
}

/// Makes the file beside its name first: one that is there is whole.
fn make(root: &Path, file: &Path, budget_bytes: u64) -> Result<(), Cannot> {
    if !rustix::process::geteuid().is_root() {
        return Err(Cannot::Here("only root can mount a pool".to_owned()));
    }
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !known.split_whitespace().any(|word| word == "btrfs") {
        return Err(Cannot::Here("the kernel has no btrfs".to_owned()));
    }
    let mkfs = program::find("mkfs.btrfs")
        .ok_or_else(|| Cannot::Here("`mkfs.btrfs` is missing: install btrfs-progs".to_owned()))?;
    let size = size(root, budget_bytes)?;
    let unfinished = root.join("pool.btrfs.new");
    #[expect(clippy::disallowed_methods, reason = "`mkfs.btrfs` wrote it, and it is made again")]
    let made = allocate(&unfinished, size)
        .and_then(|()| format(&mkfs, &unfinished))
        .and_then(|()| std::fs::rename(&unfinished, file).map_err(|error| error.to_string()));
    made.map_err(|reason| {
        let _ = std::fs::remove_file(&unfinished);
        Cannot::Here(reason)
    })
}

fn size(root: &Path, budget_bytes: u64) -> Result<u64, Cannot> {
    let host = rustix::fs::statvfs(root).trying("ask for the free space of", root);
    let host = host.map_err(Cannot::Broken)?;
    let free = host.f_bavail.saturating_mul(host.f_frsize);
    let size = budget_bytes.min(free / PARTS) & !0xf_ffff;
    if size >= SMALLEST_BYTES {
        return Ok(size);
    }
    let (size, least) = (size >> 20, SMALLEST_BYTES >> 20);
    Err(Cannot::Here(format!("there are {size} MiB for a pool, and it needs {least}")))
}

fn allocate(file: &Path, size: u64) -> Result<(), String> {
    let _ = std::fs::remove_file(file);
    let told = |error: std::io::Error| format!("the pool's file cannot be made: {error}");
    let made = File::options().write(true).create_new(true).open(file).map_err(told)?;
    // On a host's own btrfs, copying on write twice would only scatter the file. Others do not know the flag.
    if let Ok(flags) = rustix::fs::ioctl_getflags(&made) {
        let _ = rustix::fs::ioctl_setflags(&made, flags | IFlags::NOCOW);
    }
    rustix::fs::fallocate(&made, FallocateFlags::empty(), 0, size)
        .map_err(|error| told(error.into()))
}

fn format(mkfs: &Path, file: &Path) -> Result<(), String> {
    // `-K`: discarding would give the allocated blocks back. One copy of everything: the host's disk keeps them safe, or nothing does.
    let plain = ["-q", "-K", "-m", "single", "-d", "single"].map(Path::new);
    let numbered = HIGH_NUMBERS.iter().map(Path::new).find(|path| path.is_dir());
    if let Some(directory) = numbered {
        let arguments = [plain.as_slice(), &[Path::new("--rootdir"), directory, file]].concat();
        if program::run(mkfs, &arguments).is_ok() {
            return Ok(());
        }
    }
    program::run(mkfs, &[plain.as_slice(), &[Path::new("-f"), file]].concat()).map(drop)
}

fn attach(file: &Path, at: &Path) -> Result<(), String> {
    let losetup = program::find("losetup").ok_or("`losetup` is missing: install util-linux")?;
    // A device that a crash left behind is taken again, instead of a second one for the same bytes.
    let arguments = ["--find", "--show", "--nooverlap"].map(Path::new);
    let plain = [arguments.as_slice(), &[file]].concat();
    // Past the host's page cache where it can be: it would hold everything twice, and charge sandboxes for it.
    let direct = [&[Path::new("--direct-io=on")], plain.as_slice()].concat();
    let device = program::run(&losetup, &direct).or_else(|_| program::run(&losetup, &plain))?;
    let device = Path::new(&device);
    let flags = MountFlags::NOATIME | MountFlags::NODEV | MountFlags::NOSUID;
    let mounted = rustix::mount::mount(device, at, "btrfs", flags, c"nodiscard")
        .map_err(|error| format!("the pool cannot be mounted: {error}"));
    // While it is mounted this only marks the device to clear itself after the last use.
    let detached = program::run(&losetup, &[Path::new("--detach"), device]);
    mounted?;
    detached.map(drop)
}

fn is_mounted(root: &Path, at: &Path) -> Result<bool, Cannot> {
    let device = |path: &Path| {
        std::fs::metadata(path)
            .trying("look at", path)
            .map(|found| found.dev())
            .map_err(Cannot::Broken)
    };
    Ok(device(root)? != device(at)?)
}

/// Whatever else is mounted there is not touched.
fn is_ours(file: &Path, at: &Path) -> Result<(), Cannot> {
    let mut expected = [0; 16];
    let read = File::open(file).and_then(|file| file.read_exact_at(&mut expected, ID_OFFSET));
    read.trying("read", file).map_err(Cannot::Broken)?;
    let mounted = open_root(at).map_err(Cannot::Broken)?;
    let magic = rustix::fs::fstatfs(&mounted).map(|found| found.f_type);
    let is_btrfs = magic.is_ok_and(|magic| magic == BTRFS_MAGIC);
    if is_btrfs && ioctl::file_system_id(&mounted) == Ok(expected) {
        return Ok(());
    }
    let sentence = format!("something else is mounted at {}: unmount it", at.display());
    Err(Cannot::Broken(DiskError::Unusable(sentence)))
}
