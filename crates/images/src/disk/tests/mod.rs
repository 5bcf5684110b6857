//! Disks on both grounds: what both promise, and what each does in its own way.

mod btrfs;
mod crash;
mod plain;
mod promises;
mod room;

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::mount::{MountFlags, UnmountFlags};
use tempfile::TempDir;
use unsupported::{supported, unsupported};

use super::*;

const MIB: u64 = 1 << 20;
static BLOCK: [u8; 1 << 20] = [7; 1 << 20];
const POOL: u64 = 512 * MIB;
const BUDGET: Budget = Budget { bytes: POOL, guaranteed_bytes: MIB };
const LIMIT: Limit = Limit { bytes: 64 * MIB, files: 100_000 };

/// Disks in a directory of their own. A pool is unmounted at the end, however the test ends.
struct Scratch {
    disks: Option<Disks>,
    root: TempDir,
}

impl Scratch {
    fn plain() -> Self {
        Self::open(Wish::Plain)
    }

    /// Why this machine cannot have a pool, where it cannot.
    fn btrfs() -> Result<Self, &'static str> {
        let known = fs::read_to_string("/proc/filesystems").unwrap();
        if !rustix::process::geteuid().is_root() || !known.contains("btrfs") {
            return Err("a btrfs pool needs root and a kernel with btrfs");
        }
        Ok(Self::open(Wish::Btrfs))
    }

    fn open(wish: Wish) -> Self {
        let root = tempfile::tempdir().unwrap();
        let disks = Disks::open(root.path(), wish, BUDGET).unwrap();
        Self { disks: Some(disks), root }
    }

    /// As a server that was restarted.
    fn restart(&mut self, wish: Wish) {
        self.disks = None;
        self.disks = Some(Disks::open(self.root.path(), wish, BUDGET).unwrap());
    }

    fn ground(&self) -> PathBuf {
        self.disks.as_ref().unwrap().inner.at.clone()
    }
}

impl std::ops::Deref for Scratch {
    type Target = Disks;

    fn deref(&self) -> &Disks {
        self.disks.as_ref().unwrap()
    }
}

impl Drop for Scratch {
    #[expect(clippy::print_stderr, reason = "a test that ends cannot fail any more")]
    fn drop(&mut self) {
        if let Some(disks) = self.disks.take()
            && let Err(error) = disks.close()
        {
            eprintln!("the pool stays mounted: {error:?}");
        }
    }
}

/// An overlay as the launcher mounts it, but for the ids.
struct Overlay {
    at: TempDir,
}

impl Overlay {
    fn mount(disk: &Path, lower: &[&Path]) -> Self {
        let at = tempfile::tempdir().unwrap();
        let lower: Vec<_> = lower.iter().map(|path| path.to_str().unwrap()).collect();
        let options = format!(
            "lowerdir={},upperdir={}/upper,workdir={}/work,volatile",
            lower.join(":"),
            disk.display(),
            disk.display()
        );
        let options = std::ffi::CString::new(options).unwrap();
        rustix::mount::mount(
            "overlay",
            at.path(),
            "overlay",
            MountFlags::empty(),
            options.as_c_str(),
        )
        .unwrap();
        Self { at }
    }

    fn path(&self) -> &Path {
        self.at.path()
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        rustix::mount::unmount(self.at.path(), UnmountFlags::empty()).unwrap();
    }
}

fn disk(name: &str) -> DiskName {
    name.parse().unwrap()
}

fn layer(name: &str) -> LayerName {
    name.parse().unwrap()
}

fn with_file(name: &'static str) -> impl FnOnce(&Path) -> std::io::Result<()> {
    move |at| fs::write(at.join(name), name)
}

fn names_in(at: &Path) -> Vec<String> {
    list(at).unwrap()
}
