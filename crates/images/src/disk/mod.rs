//! Writable disks, and the layers below them.
//!
//! ```text
//!  <ground>/disks/NAME/{upper,work}      what one sandbox writes
//!           setups/NAME/{upper,work}     the same, for a setup: the only kind that becomes a layer (IM5)
//!           layers/NAME/upper            read-only, shared
//!           incoming/N                   being made; never looked at by anyone else
//!           trash/N                      being removed
//! ```
//!
//! Whatever has its name in `disks`, `setups` or `layers` is whole: it comes there, and leaves, by one rename.
//! All calls block for as long as the disk does; most take a fraction of a millisecond.

mod btrfs;
mod copy;
mod error;
mod ground;
mod name;
mod room;
mod space;
mod trash;
mod tree;

#[cfg(test)]
mod tests;

use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use launcher::plan::{MOUNTER, STORED_IDS};
use rustix::{
    fs::{AtFlags, CWD, Gid, RenameFlags, Uid},
    io::Errno,
};

pub use error::{DiskError, ImportError};
pub use name::{DiskName, LayerName, NameError};
pub use room::Budget;
pub use space::NoRoom;

use error::Trying;
use ground::{Chosen, Ground};
use room::Room;
use trash::{Emptier, Trash, list};
use tree::Deep;

/// What to stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// btrfs where it can be had, otherwise plain directories.
    Best,
    /// btrfs, or an error that says why not.
    Btrfs,
    Plain,
}

/// What the disks stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Btrfs,
    Plain,
}

/// How much a disk may hold at the most; see `room` for how much is there for it. On btrfs the kernel holds `bytes`, which covers what every file costs, so that many empty files
/// reach it as well; `files` is only watched. On plain directories both are only watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub bytes: u64,
    pub files: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub files: u64,
}

/// A layer that was made here, with the proof of it.
#[derive(Debug)]
pub struct Made {
    /// The directory to put into the stack of an overlay.
    pub path: PathBuf,
    pub proof: LayerProof,
}

/// That a layer comes from a base or from a setup, and not from a sandbox that did anything else. Only [`Disks`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerProof {
    layer: LayerName,
}

impl LayerProof {
    pub fn layer(&self) -> &LayerName {
        &self.layer
    }
}

/// The disks and layers of this host.
#[derive(Debug, Clone)]
pub struct Disks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    // Stops before the ground is let go: the first field is dropped first.
    emptier: Emptier,
    trash: Arc<Trash>,
    ground: Arc<Ground>,
    room: Room,
    at: PathBuf,
    weaker: Option<String>,
    next: AtomicU64,
}

/// The directories of the ground.
const DISKS: &str = "disks";
const SETUPS: &str = "setups";
const LAYERS: &str = "layers";
const INCOMING: &str = "incoming";
const TRASH: &str = "trash";

/// A layer may take all of the room that is left, up to this.
const MOST_OF_A_LAYER: u64 = 256 << 30;

impl Disks {
    /// Opens the disks below `root`, which is made when it is missing, and removes what a crash left half made or half removed.
    /// Nobody else may have them open.
    ///
    /// A new pool takes the budget of the host's disk, or a part of what is free; plain directories take what they need. Of a disk that
    /// was there before, [`Disks::take_over`] must be told when something still writes to it.
    pub fn open(root: &Path, wish: Wish, budget: Budget) -> Result<Self, DiskError> {
        let private =
            |at: &Path| DirBuilder::new().recursive(true).mode(0o700).create(at).trying("make", at);
        private(root)?;
        let Chosen { ground, at, weaker } = Ground::choose(root, wish, budget.bytes)?;
        // Below a private directory, but open themselves: the launcher looks through a mapping in which their owner is
        // nobody, and nobody's capabilities reach what nobody owns.
        for name in [DISKS, SETUPS, LAYERS, INCOMING, TRASH] {
            let at = at.join(name);
            DirBuilder::new().recursive(true).mode(0o755).create(&at).trying("make", &at)?;
        }
        let ground = Arc::new(ground);
        let trash = Arc::new(Trash::new(at.join(TRASH), Arc::clone(&ground)));
        let emptier = Emptier::start(Arc::clone(&trash))?;
        let next = AtomicU64::new(0);
        let shared = Room::new(budget.guaranteed_bytes, &ground)?;
        let inner = Inner { emptier, trash, ground, room: shared, at, weaker, next };
        let disks = Self { inner: Arc::new(inner) };
        disks.mend()?;
        Ok(disks)
    }

    /// Finishes what was begun before a crash.
    fn mend(&self) -> Result<(), DiskError> {
        for name in list(&self.place(INCOMING))? {
            self.discard(&self.place(INCOMING).join(name))?;
        }
        for name in list(&self.place(LAYERS))? {
            self.inner.ground.close_layer(&self.place(LAYERS).join(name))?;
        }
        if let Ground::Btrfs(pool) = &*self.inner.ground {
            let mut living = Vec::new();
            for place in [DISKS, SETUPS, LAYERS, TRASH] {
                let place = self.place(place);
                living.extend(list(&place)?.into_iter().map(|name| place.join(name)));
            }
            pool.find_gone(&living)?;
        }
        self.inner.emptier.wake();
        Ok(())
    }

    pub fn kind(&self) -> Kind {
        self.inner.ground.kind()
    }

    /// What works less well here than it could, as a sentence with the remedy.
    pub fn weaker(&self) -> Option<String> {
        self.inner.weaker.clone()
    }

    /// Makes a disk: a directory with `upper` and `work` for the launcher. It never becomes a layer.
    pub fn create(&self, disk: &DiskName, limit: Limit) -> Result<PathBuf, DiskError> {
        self.absent(disk)?;
        let at = self.incoming();
        let granted = self.take(disk, limit, 0)?;
        let made = self.inner.ground.make(&at);
        let made = made.and_then(|()| self.furnish(disk, &at, granted));
        self.finish(made, &at, &self.place(DISKS), disk)
    }

    /// Makes a disk for a setup, which [`Disks::seal`] may turn into a layer.
    pub fn create_for_setup(&self, disk: &DiskName, limit: Limit) -> Result<PathBuf, DiskError> {
        self.absent(disk)?;
        let at = self.incoming();
        let granted = self.take(disk, limit, 0)?;
        let made = self.inner.ground.make_for_layer(&at);
        let made = made.and_then(|()| self.furnish(disk, &at, granted));
        self.finish(made, &at, &self.place(SETUPS), disk)
    }

    /// Copies a disk, also while its sandbox runs: the copy is what it held at one moment on btrfs, and at several on plain
    /// directories. The copy never becomes a layer.
    pub fn fork(&self, from: &DiskName, to: &DiskName, limit: Limit) -> Result<PathBuf, DiskError> {
        let from = self.path(from)?;
        self.absent(to)?;
        let at = self.incoming();
        let granted = self.take(to, limit, 0)?;
        let made = self.inner.ground.copy(&from, &at);
        let made = made.and_then(|()| renew_work(&at));
        let made = made.and_then(|()| self.limit(to, &at, granted));
        self.finish(made, &at, &self.place(DISKS), to)
    }

    /// The directory of a disk that a sandbox used before. What the overlay noted for itself is cleaned away.
    pub fn reopen(&self, disk: &DiskName, limit: Limit) -> Result<PathBuf, DiskError> {
        let at = self.path(disk)?;
        let account = self.inner.ground.account(&at)?;
        let used = account.and_then(|account| self.inner.ground.used(account));
        let granted = self.take(disk, limit, used.unwrap_or_default().all())?;
        let ready = self.limit(disk, &at, granted).and_then(|()| renew_work(&at));
        if ready.is_err() {
            self.rest(disk);
        }
        ready.map(|()| at)
    }

    /// Nothing writes to this disk until it is opened again: what it does not hold is free for others.
    pub fn rest(&self, disk: &DiskName) {
        self.inner.room.give_back(disk.as_str());
    }

    /// A disk that something writes to since before these disks were opened.
    pub fn take_over(&self, disk: &DiskName, limit: Limit) -> Result<(), DiskError> {
        let account = self.inner.ground.account(&self.path(disk)?)?;
        self.inner.room.take_over(&self.inner.ground, disk.as_str(), limit.bytes, account);
        Ok(())
    }

    /// Shares out anew what nobody was promised. Call it every second or so: a disk that may hold more than is free for it at first is
    /// lent the rest as it fills.
    pub fn balance(&self) -> Result<(), DiskError> {
        self.inner.room.balance(&self.inner.ground)
    }

    /// Turns the disk of a setup into a layer. Nothing may use it any more. Files keep their numbers and times, so that what git
    /// noted about them stays true.
    pub fn seal(&self, disk: &DiskName, layer: &LayerName) -> Result<Made, DiskError> {
        let from = self.place(SETUPS).join(disk.as_str());
        if !from.exists() {
            self.path(disk)?;
            return Err(DiskError::NotASetup(disk.clone()));
        }
        tree::remove(&from, c"work")?;
        self.inner.ground.settle(&from)?;
        let to = self.place(LAYERS).join(layer.as_str());
        match move_to(&from, &to) {
            Err(Errno::EXIST) => return Err(DiskError::LayerExists(layer.clone())),
            moved => moved.trying("publish", &to)?,
        }
        self.rest(disk);
        self.inner.ground.close_layer(&to)?;
        self.inner.emptier.wake();
        Ok(made(&to, layer))
    }

    /// A layer that `fill` fills, with ids from [`STORED_IDS`] on when we are root. It is there only when `fill` succeeds; where it
    /// is there already, `fill` is not called.
    pub fn import_layer<E>(
        &self,
        layer: &LayerName,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Made, ImportError<E>> {
        let to = self.place(LAYERS).join(layer.as_str());
        if to.exists() {
            return Ok(made(&to, layer));
        }
        let at = self.incoming();
        // Not a name that a disk can have.
        let filling = at.to_string_lossy().into_owned();
        let granted = self.inner.room.take(&self.inner.ground, &filling, MOST_OF_A_LAYER, 0)?;
        let imported = self.fill_layer(&at, &filling, granted, fill);
        self.inner.room.give_back(&filling);
        if let Err(error) = imported {
            self.drop_incoming(&at);
            return Err(error);
        }
        let moved = self.inner.ground.settle(&at).and_then(|()| match move_to(&at, &to) {
            // Somebody else was quicker with the same.
            Err(Errno::EXIST) => self.discard(&at),
            moved => moved.trying("publish", &to),
        });
        if let Err(error) = moved {
            self.drop_incoming(&at);
            return Err(error.into());
        }
        self.inner.ground.close_layer(&to)?;
        self.inner.emptier.wake();
        Ok(made(&to, layer))
    }

    fn fill_layer<E>(
        &self,
        at: &Path,
        filling: &str,
        granted: u64,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), ImportError<E>> {
        let upper = at.join("upper");
        self.inner.ground.make_for_layer(at)?;
        let account = self.inner.ground.limit(at, granted)?;
        self.inner.room.found(filling, account);
        owned(&upper, STORED_IDS)?;
        fill(&upper).map_err(ImportError::Fill)
    }

    /// Removes a disk. Returns at once; succeeds when it is gone already. Nothing may use it any more.
    pub fn remove(&self, disk: &DiskName) -> Result<(), DiskError> {
        for place in [DISKS, SETUPS] {
            self.discard(&self.place(place).join(disk.as_str()))?;
        }
        self.rest(disk);
        Ok(())
    }

    /// Removes a layer. Returns at once; succeeds when it is gone already. No sandbox may stand on it any more.
    pub fn remove_layer(&self, layer: &LayerName) -> Result<(), DiskError> {
        let at = self.place(LAYERS).join(layer.as_str());
        if at.exists() {
            self.inner.ground.open_layer(&at)?;
        }
        self.discard(&at)
    }

    /// Removes all that is in the trash before it returns. On btrfs the kernel gives the room back soon after.
    pub fn empty_trash(&self) -> Result<(), DiskError> {
        self.inner.trash.empty()?;
        match &*self.inner.ground {
            Ground::Btrfs(pool) => pool.hurry(),
            Ground::Plain { .. } => Ok(()),
        }
    }

    /// Where a disk is, as it is.
    pub fn path(&self, disk: &DiskName) -> Result<PathBuf, DiskError> {
        [DISKS, SETUPS]
            .iter()
            .map(|place| self.place(place).join(disk.as_str()))
            .find(|path| path.exists())
            .ok_or_else(|| DiskError::NoDisk(disk.clone()))
    }

    /// The directory of a layer.
    pub fn layer(&self, layer: &LayerName) -> Result<PathBuf, DiskError> {
        Ok(self.layer_at(layer)?.join("upper"))
    }

    /// What a layer is, as a text that changes when the layer does. Costs a walk on plain directories.
    pub fn identity(&self, layer: &LayerName) -> Result<String, DiskError> {
        self.inner.ground.identity(&self.layer_at(layer)?)
    }

    /// What a disk holds. Costs a walk on plain directories. On btrfs some of what was written in the last seconds may be missing.
    pub fn bytes(&self, disk: &DiskName) -> Result<u64, DiskError> {
        self.inner.ground.bytes(&self.path(disk)?)
    }

    /// What a layer holds.
    pub fn layer_bytes(&self, layer: &LayerName) -> Result<u64, DiskError> {
        self.inner.ground.bytes(&self.layer_at(layer)?)
    }

    /// What a disk holds, and in how many files. Costs a walk. On plain directories a tree that is too deep for one is
    /// [`DiskError::TooDeep`]; on btrfs, which counts the bytes itself, its deepest files are left out.
    pub fn usage(&self, disk: &DiskName) -> Result<Usage, DiskError> {
        let at = self.path(disk)?;
        let upper = at.join("upper");
        match self.kind() {
            Kind::Btrfs => {
                let files = tree::measure(&upper, Deep::LeftOut)?.files;
                Ok(Usage { bytes: self.inner.ground.bytes(&at)?, files })
            }
            Kind::Plain => tree::measure(&upper, Deep::Refused),
        }
    }

    /// Every disk there is, those of setups too.
    pub fn disks(&self) -> Result<Vec<DiskName>, DiskError> {
        let mut names = list(&self.place(DISKS))?;
        names.extend(list(&self.place(SETUPS))?);
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    pub fn layers(&self) -> Result<Vec<LayerName>, DiskError> {
        let names = list(&self.place(LAYERS))?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Unmounts the pool, and lets its device go. For tests and for removing it all; a server leaves it mounted. Fails while anything
    /// uses it, also a clone of this.
    pub fn close(self) -> Result<(), DiskError> {
        let busy = || DiskError::Unusable("somebody still has the disks open".to_owned());
        let Inner { emptier, trash, ground, .. } =
            Arc::try_unwrap(self.inner).map_err(|_| busy())?;
        drop(emptier);
        drop(trash);
        match Arc::try_unwrap(ground).map_err(|_| busy())? {
            Ground::Btrfs(pool) => pool.close(),
            Ground::Plain { .. } => Ok(()),
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.inner.at.join(name)
    }

    fn layer_at(&self, layer: &LayerName) -> Result<PathBuf, DiskError> {
        let at = self.place(LAYERS).join(layer.as_str());
        if at.exists() {
            return Ok(at);
        }
        Err(DiskError::NoLayer(layer.clone()))
    }

    fn absent(&self, disk: &DiskName) -> Result<(), DiskError> {
        match self.path(disk) {
            Ok(_) => Err(DiskError::Exists(disk.clone())),
            Err(_) => Ok(()),
        }
    }

    fn unused(&self, place: &str) -> PathBuf {
        let number = self.inner.next.fetch_add(1, Ordering::Relaxed);
        self.place(place).join(number.to_string())
    }

    fn incoming(&self) -> PathBuf {
        self.unused(INCOMING)
    }

    fn take(&self, disk: &DiskName, limit: Limit, used: u64) -> Result<u64, DiskError> {
        self.inner.room.take(&self.inner.ground, disk.as_str(), limit.bytes, used)
    }

    fn limit(&self, disk: &DiskName, at: &Path, granted: u64) -> Result<(), DiskError> {
        let account = self.inner.ground.limit(at, granted)?;
        self.inner.room.found(disk.as_str(), account);
        Ok(())
    }

    fn furnish(&self, disk: &DiskName, at: &Path, granted: u64) -> Result<(), DiskError> {
        owned(&at.join("upper"), STORED_IDS)?;
        owned(&at.join("work"), MOUNTER)?;
        self.limit(disk, at, granted)
    }

    /// Publishes what was made at `at`, or leaves nothing of it.
    fn finish(
        &self,
        made: Result<(), DiskError>,
        at: &Path,
        place: &Path,
        disk: &DiskName,
    ) -> Result<PathBuf, DiskError> {
        let to = place.join(disk.as_str());
        let done = made.and_then(|()| match move_to(at, &to) {
            Err(Errno::EXIST) => Err(DiskError::Exists(disk.clone())),
            moved => moved.trying("publish", &to),
        });
        if done.is_err() {
            self.rest(disk);
            self.drop_incoming(at);
        }
        done.map(|()| to)
    }

    /// After a failure that is told anyway.
    fn drop_incoming(&self, at: &Path) {
        if let Err(error) = self.discard(at) {
            tracing::warn!(%error, "what was half made stays until the next start");
        }
    }

    /// Renames into the trash, if it is there, and has it emptied.
    fn discard(&self, at: &Path) -> Result<(), DiskError> {
        loop {
            // The trash may hold names from before a crash.
            match move_to(at, &self.unused(TRASH)) {
                Err(Errno::EXIST) => {}
                Err(Errno::NOENT) => return Ok(()),
                moved => {
                    moved.trying("remove", at)?;
                    break;
                }
            }
        }
        self.inner.emptier.wake();
        Ok(())
    }
}

fn made(at: &Path, layer: &LayerName) -> Made {
    Made { path: at.join("upper"), proof: LayerProof { layer: layer.clone() } }
}

fn move_to(from: &Path, to: &Path) -> Result<(), Errno> {
    rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
}

/// A directory that belongs to a stored id, or to ourselves where we cannot give it away.
fn owned(at: &Path, id: u32) -> Result<(), DiskError> {
    DirBuilder::new().mode(0o755).create(at).trying("make", at)?;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
    rustix::fs::chownat(CWD, at, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
        .trying("give away", at)
}

/// An overlay that did not end well, or was volatile, marks its work directory, and is not mounted again on it.
fn renew_work(disk: &Path) -> Result<(), DiskError> {
    tree::remove(disk, c"work")?;
    owned(&disk.join("work"), MOUNTER)
}
