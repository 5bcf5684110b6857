//! What disks stand on: btrfs where it can be had, plain directories elsewhere.

use std::{
    ffi::CString,
    fs::DirBuilder,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use super::{
    DiskError, Kind, Usage, Wish,
    btrfs::{Cannot, Pool},
    copy,
    error::Trying,
    space::{Account, Space, Used},
    tree::{self, Deep},
};

#[derive(Debug)]
pub(super) enum Ground {
    Btrfs(Pool),
    /// Limits are only watched; copies are copies, where the file system cannot share.
    Plain {
        at: PathBuf,
    },
}

/// The ground, where it is, and why it is not better.
pub(super) struct Chosen {
    pub(super) ground: Ground,
    pub(super) at: PathBuf,
    pub(super) weaker: Option<String>,
}

impl Ground {
    pub(super) fn choose(root: &Path, wish: Wish, budget_bytes: u64) -> Result<Chosen, DiskError> {
        let plain = |why: String| Chosen {
            ground: Self::Plain { at: root.to_owned() },
            at: root.join("plain"),
            weaker: Some(format!("the disk limits of sandboxes are watched, not enforced: {why}")),
        };
        if wish == Wish::Plain {
            return Ok(plain("plain directories were asked for".to_owned()));
        }
        if wish == Wish::Best && root.join("plain").exists() {
            let begun = root.join("plain");
            return Ok(plain(format!(
                "the disks were begun as plain directories; remove {} to begin anew with btrfs",
                begun.display()
            )));
        }
        match Pool::open(root, budget_bytes) {
            Ok(pool) => {
                let at = pool.at().to_owned();
                Ok(Chosen { ground: Self::Btrfs(pool), at, weaker: None })
            }
            Err(Cannot::Here(why)) if wish == Wish::Best => Ok(plain(why)),
            Err(Cannot::Here(why)) => Err(DiskError::Unusable(why)),
            Err(Cannot::Broken(error)) => Err(error),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Btrfs(_) => Kind::Btrfs,
            Self::Plain { .. } => Kind::Plain,
        }
    }

    pub(super) fn make(&self, at: &Path) -> Result<(), DiskError> {
        match self {
            Self::Btrfs(_) => Pool::make(at),
            Self::Plain { .. } => directory(at),
        }
    }

    /// Makes what will become a layer.
    pub(super) fn make_for_layer(&self, at: &Path) -> Result<(), DiskError> {
        match self {
            Self::Btrfs(pool) => pool.make_for_layer(at),
            Self::Plain { .. } => directory(at),
        }
    }

    /// The account of what is at `at`, which may hold `granted` bytes from now on.
    pub(super) fn limit(&self, at: &Path, granted: u64) -> Result<Account, DiskError> {
        match self {
            Self::Btrfs(_) => Pool::limit(at, granted).map(Some),
            Self::Plain { .. } => Ok(None),
        }
    }

    /// Changes what an account may hold. `None` if the kernel would not.
    pub(super) fn grant(&self, account: u64, granted: u64) -> Option<u64> {
        match self {
            Self::Btrfs(pool) => pool.grant(account, granted).ok().map(|()| granted),
            Self::Plain { .. } => None,
        }
    }

    pub(super) fn account(&self, at: &Path) -> Result<Account, DiskError> {
        match self {
            Self::Btrfs(_) => Pool::account(at).map(Some),
            Self::Plain { .. } => Ok(None),
        }
    }

    pub(super) fn used(&self, account: u64) -> Option<Used> {
        match self {
            Self::Btrfs(pool) => pool.used(account).ok(),
            Self::Plain { .. } => None,
        }
    }

    /// Whether the kernel holds what is granted, so that more may be lent than is guaranteed.
    pub(super) fn lends(&self) -> bool {
        self.kind() == Kind::Btrfs
    }

    /// What all disks have together.
    pub(super) fn space(&self) -> Result<Space, DiskError> {
        match self {
            Self::Btrfs(pool) => pool.space(),
            Self::Plain { at } => {
                let found = rustix::fs::statvfs(at).trying("ask for the free space of", at)?;
                let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
                Ok(Space { total: bytes(found.f_blocks), free: bytes(found.f_bavail) })
            }
        }
    }

    /// Copies the upper tree of `from`, and whatever comes with it, to the new place `to`.
    pub(super) fn copy(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        match self {
            Self::Btrfs(_) => Pool::copy(from, to),
            Self::Plain { .. } => {
                directory(to)?;
                directory(&to.join("upper"))?;
                copy::tree(&from.join("upper"), &to.join("upper"))
            }
        }
    }

    /// Readies what is at `at` to be published as a layer: after this, a crash of the host takes nothing of it.
    pub(super) fn settle(&self, at: &Path) -> Result<(), DiskError> {
        if let Self::Btrfs(pool) = self {
            pool.number(at)?;
        }
        rustix::fs::syncfs(tree::open_root(at)?).trying("write out", at)
    }

    /// Nobody writes to a layer. Plain directories cannot be closed to root, and have only our care.
    pub(super) fn close_layer(&self, at: &Path) -> Result<(), DiskError> {
        match self {
            Self::Btrfs(pool) => pool.close_layer(at),
            Self::Plain { .. } => Ok(()),
        }
    }

    /// Makes a layer movable.
    pub(super) fn open_layer(&self, at: &Path) -> Result<(), DiskError> {
        match self {
            Self::Btrfs(_) => Pool::open_layer(at),
            Self::Plain { .. } => Ok(()),
        }
    }

    pub(super) fn identity(&self, at: &Path) -> Result<String, DiskError> {
        match self {
            Self::Btrfs(_) => Pool::identity(at),
            Self::Plain { .. } => {
                let upper = at.join("upper");
                let found = std::fs::symlink_metadata(&upper).trying("look at", &upper)?;
                let Usage { bytes, files } = tree::measure(&upper, Deep::Refused)?;
                let (inode, changed) = (found.ino(), found.ctime());
                Ok(format!("plain:{inode}:{changed}:{files}:{bytes}"))
            }
        }
    }

    pub(super) fn bytes(&self, at: &Path) -> Result<u64, DiskError> {
        match self {
            Self::Btrfs(pool) => pool.bytes(at),
            Self::Plain { .. } => {
                tree::measure(&at.join("upper"), Deep::Refused).map(|usage| usage.bytes)
            }
        }
    }

    /// Removes `name` in `parent` for good, whatever it is.
    pub(super) fn destroy(&self, parent: &Path, name: &str) -> Result<(), DiskError> {
        if let Self::Btrfs(pool) = self
            && pool.destroy(parent, name).is_ok()
        {
            return Ok(());
        }
        tree::remove(parent, &CString::new(name).unwrap_or_default())
    }
}

fn directory(at: &Path) -> Result<(), DiskError> {
    DirBuilder::new().mode(0o755).create(at).trying("make", at)
}
