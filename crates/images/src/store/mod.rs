//! Images that were built: records on the disk, each naming its layers.
//!
//! An image is there when its record is, and a record comes and goes by one rename. A layer belongs to all images that name it, and
//! goes with the last of them. Nothing counts users on the disk: after a crash such a count would be a lie that never heals. Whoever
//! prunes says what is in use.

mod error;
mod lock;
mod manifest;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use contracts::sandbox::{Image, ImageKey};
use domain::time::Timestamp;
use files::Durability;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

pub use error::StoreError;
pub use lock::BuildLock;
pub use manifest::{Provenance, Purpose};

use self::{
    error::Trying,
    lock::Builds,
    manifest::{KnownLayer, Manifest},
};
use crate::disk::{Disks, LayerName, LayerProof};

/// The images of this host. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Images {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    at: PathBuf,
    disks: Disks,
    builds: Builds,
    /// Images whose record and layers were checked since the start.
    checked: Mutex<HashMap<ImageKey, Arc<Built>>>,
    /// Held while records come or go.
    changing: Mutex<()>,
}

/// An image that was checked, and is ready to be stood on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    pub key: ImageKey,
    pub provenance: Provenance,
    /// The uppermost first.
    pub layers: Vec<BuiltLayer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltLayer {
    pub name: LayerName,
    pub path: PathBuf,
    pub bytes: u64,
}

impl Built {
    pub fn bytes(&self) -> u64 {
        total(self.layers.iter().map(|layer| layer.bytes))
    }

    /// The image as the contract shows it.
    pub fn shown(&self, used_at: Timestamp, users: u32) -> Image {
        Image {
            key: self.key.clone(),
            base: self.provenance.base.clone(),
            sources: self.provenance.sources.clone(),
            setup: self.provenance.setup.clone(),
            bytes: self.bytes(),
            built_at_millis: self.provenance.built_at_millis,
            used_at_millis: used_at.as_millis(),
            users,
        }
    }
}

/// What must not go, whatever its age.
#[derive(Debug, Clone, Default)]
pub struct InUse {
    /// Images that a sandbox stands on, or that somebody is about to open.
    pub images: BTreeSet<ImageKey>,
    /// Layers that a build or a sandbox uses on its own.
    pub layers: BTreeSet<LayerName>,
}

/// An image as it is found in the directory.
#[derive(Debug)]
struct Found {
    key: ImageKey,
    used_at: Timestamp,
    /// Why it is refused, if it is.
    manifest: Result<Manifest, String>,
}

/// What may stay of the images that nothing uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// So many that all layers together take this at the most.
    Bytes(u64),
    /// Those that were used at this time, or later.
    UsedSince(Timestamp),
}

impl Images {
    /// Opens the records below `root`, which is made when it is missing. Nobody else may have them open.
    pub fn open(root: &Path, disks: Disks) -> Result<Self, StoreError> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root).trying("make", root)?;
        let inner = Inner {
            at: root.to_owned(),
            disks,
            builds: Builds::default(),
            checked: Mutex::default(),
            changing: Mutex::default(),
        };
        let images = Self { inner: Arc::new(inner) };
        files::sweep(&images.inner.at).trying("clear", &images.inner.at)?;
        Ok(images)
    }

    pub fn disks(&self) -> &Disks {
        &self.inner.disks
    }

    /// Waits until nobody else builds `key`, and keeps others from it. Look for the image again after it.
    pub async fn lock(&self, key: &ImageKey) -> BuildLock {
        self.inner.builds.lock(key).await
    }

    /// Makes `layers`, the uppermost first, the image `key`. The uppermost must be the one that the proof is about.
    pub fn publish(
        &self,
        key: &ImageKey,
        proof: &LayerProof,
        layers: &[LayerName],
        provenance: Provenance,
    ) -> Result<Arc<Built>, StoreError> {
        if layers.first() != Some(proof.layer()) {
            let proven = proof.layer().clone();
            return Err(StoreError::Unproven { key: key.clone(), proven });
        }
        let _alone = self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let disks = &self.inner.disks;
        let known = layers.iter().map(|name| {
            let (identity, bytes) = (disks.identity(name)?, disks.layer_bytes(name)?);
            Ok(KnownLayer { name: name.to_string(), identity, bytes })
        });
        let layers = known.collect::<Result<Vec<_>, StoreError>>()?;
        let built_at = provenance.built_at();
        let manifest = Manifest { key: key.to_string(), provenance, layers };
        let path = self.record(key);
        let bytes = manifest.to_bytes().map_err(std::io::Error::from).trying("write", &path)?;
        write_whole(&path, &bytes)?;
        set_used(&path, built_at)?;
        self.forget(key);
        self.check(key, &manifest)
    }

    /// The image of `key`, checked before it is given out. The check is made once; after that this costs nothing.
    pub fn find(&self, key: &ImageKey) -> Result<Option<Arc<Built>>, StoreError> {
        let checked = self.inner.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = checked.get(key) {
            return Ok(Some(Arc::clone(built)));
        }
        drop(checked);
        let path = self.record(key);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).trying("read", &path),
        };
        let refused = |reason| StoreError::Refused { key: key.clone(), reason };
        let manifest = Manifest::from_bytes(key, &bytes).map_err(refused)?;
        self.check(key, &manifest).map(Some)
    }

    /// Every image that can be used and when it last was, the most recent first. Those that are refused are not among them.
    pub fn list(&self) -> Result<Vec<(Arc<Built>, Timestamp)>, StoreError> {
        let mut listed = Vec::new();
        for found in self.found()? {
            match self.find(&found.key) {
                Ok(Some(built)) => listed.push((built, found.used_at)),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "an image is left out"),
            }
        }
        listed.sort_by(|(a, a_used), (b, b_used)| (b_used, &a.key).cmp(&(a_used, &b.key)));
        Ok(listed)
    }

    /// Notes that the image was used.
    pub fn touch(&self, key: &ImageKey, now: Timestamp) -> Result<(), StoreError> {
        set_used(&self.record(key), now)
    }

    /// Removes an image, whoever uses it, and the layers that were only its own and are not in use.
    pub fn remove(&self, key: &ImageKey, in_use: &InUse) -> Result<(), StoreError> {
        let _alone = self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove_records(&BTreeSet::from([key.clone()]), in_use)
    }

    /// Removes images that nothing uses, the longest unused first, until the rest is what may be kept; and every record that
    /// would be refused. Returns the images that went, with the time of their last use.
    pub fn prune(
        &self,
        keep: Keep,
        in_use: &InUse,
    ) -> Result<Vec<(Arc<Built>, Timestamp)>, StoreError> {
        let _alone = self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = self.list()?;
        let usable: BTreeSet<_> = kept.iter().map(|(built, _)| built.key.clone()).collect();
        let mut going: BTreeSet<_> = self
            .found()?
            .into_iter()
            .map(|found| found.key)
            .filter(|key| !usable.contains(key) && !in_use.images.contains(key))
            .collect();
        let mut gone = Vec::new();
        loop {
            let is_free = |(built, _): &(Arc<Built>, _)| !in_use.images.contains(&built.key);
            let Some(oldest) = kept.iter().rposition(is_free) else { break };
            let is_too_much = match keep {
                Keep::Bytes(bytes) => total_bytes(&kept) > bytes,
                Keep::UsedSince(then) => kept.get(oldest).is_some_and(|(_, used)| *used < then),
            };
            if !is_too_much {
                break;
            }
            let image = kept.remove(oldest);
            going.insert(image.0.key.clone());
            gone.push(image);
        }
        self.remove_records(&going, in_use)?;
        Ok(gone)
    }

    /// Removes layers that no image names and nothing uses: what a crash left between a layer and its record. Call it before
    /// any build begins.
    pub fn sweep(&self, in_use: &InUse) -> Result<Vec<LayerName>, StoreError> {
        let _alone = self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let named = self.named_layers()?;
        let mut swept = Vec::new();
        for layer in self.inner.disks.layers()? {
            if !named.contains(&layer) && !in_use.layers.contains(&layer) {
                self.inner.disks.remove_layer(&layer)?;
                swept.push(layer);
            }
        }
        Ok(swept)
    }

    /// Records first: a record without its layers would be refused, layers without a record are only swept.
    fn remove_records(&self, keys: &BTreeSet<ImageKey>, in_use: &InUse) -> Result<(), StoreError> {
        let mut layers = BTreeSet::new();
        for found in self.found()?.into_iter().filter(|found| keys.contains(&found.key)) {
            layers.extend(
                found.manifest.and_then(|manifest| manifest.layer_names()).unwrap_or_default(),
            );
        }
        for key in keys {
            self.forget(key);
            let path = self.record(key);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed.trying("remove", &path)?,
            }
        }
        let named = self.named_layers()?;
        for layer in layers.difference(&named).filter(|layer| !in_use.layers.contains(*layer)) {
            self.inner.disks.remove_layer(layer)?;
        }
        Ok(())
    }

    /// What a record that is refused names does not count: nothing will start from it.
    fn named_layers(&self) -> Result<BTreeSet<LayerName>, StoreError> {
        let manifests = self.found()?.into_iter().filter_map(|found| found.manifest.ok());
        Ok(manifests.filter_map(|manifest| manifest.layer_names().ok()).flatten().collect())
    }

    fn check(&self, key: &ImageKey, manifest: &Manifest) -> Result<Arc<Built>, StoreError> {
        let refused = |reason| StoreError::Refused { key: key.clone(), reason };
        let disks = &self.inner.disks;
        let mut layers = Vec::new();
        let names = manifest.layer_names().map_err(refused)?;
        for (name, known) in names.into_iter().zip(&manifest.layers) {
            let path = disks.layer(&name).map_err(|error| refused(error.to_string()))?;
            if disks.identity(&name)? != known.identity {
                return Err(refused(format!("its layer `{name}` was changed")));
            }
            layers.push(BuiltLayer { name, path, bytes: known.bytes });
        }
        let provenance = manifest.provenance.clone();
        let built = Arc::new(Built { key: key.clone(), provenance, layers });
        let mut checked = self.inner.checked.lock().unwrap_or_else(PoisonError::into_inner);
        checked.insert(key.clone(), Arc::clone(&built));
        Ok(built)
    }

    fn forget(&self, key: &ImageKey) {
        let mut checked = self.inner.checked.lock().unwrap_or_else(PoisonError::into_inner);
        checked.remove(key);
    }

    fn record(&self, key: &ImageKey) -> PathBuf {
        self.inner.at.join(format!("{key}.json"))
    }

    fn found(&self) -> Result<Vec<Found>, StoreError> {
        let at = &self.inner.at;
        let mut all = Vec::new();
        for entry in std::fs::read_dir(at).trying("read", at)? {
            let path = entry.trying("read", at)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(Ok(key)) = name.strip_suffix(".json").map(str::parse::<ImageKey>) else {
                continue;
            };
            let bytes = std::fs::read(&path).trying("read", &path)?;
            let used = std::fs::metadata(&path).trying("look at", &path)?;
            let used_at =
                Timestamp::from_millis(used.mtime() * 1_000 + used.mtime_nsec() / 1_000_000);
            all.push(Found { used_at, manifest: Manifest::from_bytes(&key, &bytes), key });
        }
        Ok(all)
    }
}

/// A layer that several images share counts once.
fn total_bytes(images: &[(Arc<Built>, Timestamp)]) -> u64 {
    let layers = images.iter().flat_map(|(built, _)| &built.layers);
    let sizes: HashMap<_, _> = layers.map(|layer| (&layer.name, layer.bytes)).collect();
    total(sizes.into_values())
}

/// A record says what it wants: the sum of its numbers may be larger than any number.
fn total(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

/// The file has all of `bytes` or is what it was before, even if the host stops now.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    files::write(path, bytes, files::PRIVATE, Durability::Synced).trying("write", path)
}

/// The time of the last use is the record's own: one call, and no second file that could disagree.
fn set_used(path: &Path, at: Timestamp) -> Result<(), StoreError> {
    let millis = at.as_millis();
    let time = Timespec {
        tv_sec: millis.div_euclid(1_000),
        tv_nsec: millis.rem_euclid(1_000) * 1_000_000,
    };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).trying("touch", path)
}
