//! From the name of an image to what a sandbox stands on.
//!
//! A base is brought in once: what was imported is a layer, and found again by the digest of what it came from.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use contracts::sandbox::{Base, ImageKey, SandboxError, User};
use domain::time::Timestamp;
use images::{
    base::{
        Accounts, BaseError, Digest, Owner,
        host::HostView,
        oci::{self, Registry, Source},
        rootfs,
        skeleton::Skeleton,
        unpack::{Limits, Rules, Whiteouts},
    },
    disk::{Disks, LayerName},
};
use launcher::plan::STORED_IDS;

use super::{Identity, Inner, path::PATH};
use crate::stack::Stack;

/// How long what was found out about a base is believed. The host is looked at again by whoever tends, so that nobody
/// who opens a sandbox waits for it.
const fn fresh_for(base: &Base) -> Duration {
    match base {
        Base::Host | Base::Image(_) => Duration::MAX,
        Base::Directory(_) | Base::Tar(_) => Duration::from_secs(2),
        Base::Oci(_) => Duration::from_mins(5),
    }
}

/// How often the host is looked at again: programs may have been installed.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

const HOSTNAME: &str = "sandbox";

#[derive(Debug, Default)]
pub(crate) struct Stacks {
    found: Mutex<BTreeMap<String, Found>>,
}

#[derive(Debug, Clone)]
struct Found {
    stack: Stack,
    digest: Digest,
    at: Timestamp,
}

impl Stacks {
    /// What `base` is made of, imported if it is not there yet.
    pub(super) async fn of(&self, inner: &Inner, base: &Base) -> Result<Stack, SandboxError> {
        Ok(self.find(inner, base).await?.0)
    }

    /// The same, with the digest of what it came from.
    pub(crate) async fn find(
        &self,
        inner: &Inner,
        base: &Base,
    ) -> Result<(Stack, Digest), SandboxError> {
        let name = base.to_string();
        let now = inner.now();
        let kept = self.lock().get(&name).cloned();
        if let Some(found) = kept.filter(|found| now.since(found.at) < fresh_for(base)) {
            return Ok((found.stack, found.digest));
        }
        if let Base::Image(key) = base {
            return Box::pin(self.image(inner, key)).await;
        }
        self.look(inner, base, now).await
    }

    /// Looks at the host again, if it is time.
    pub(super) async fn refresh(&self, inner: &Inner, now: Timestamp) -> Result<(), SandboxError> {
        let seen = self.lock().get(&Base::Host.to_string()).map(|found| found.at);
        if seen.is_some_and(|at| now.since(at) >= LOOK_AGAIN) {
            self.look(inner, &Base::Host, now).await?;
        }
        Ok(())
    }

    async fn look(
        &self,
        inner: &Inner,
        base: &Base,
        now: Timestamp,
    ) -> Result<(Stack, Digest), SandboxError> {
        let name = base.to_string();
        let (stack, digest) = match base {
            Base::Image(_) => Err("an image is no base of its own".to_owned()),
            Base::Host => tokio::task::block_in_place(|| inner.host()),
            Base::Directory(path) | Base::Tar(path) => {
                tokio::task::block_in_place(|| inner.root_file_system(Path::new(path)))
            }
            Base::Oci(reference) => inner.oci(reference).await,
        }
        .map_err(|reason| SandboxError::Image { image: name.clone(), reason })?;
        let found = Found { stack: stack.clone(), digest: digest.clone(), at: now };
        self.lock().insert(name, found);
        Ok((stack, digest))
    }

    async fn image(&self, inner: &Inner, key: &ImageKey) -> Result<(Stack, Digest), SandboxError> {
        let image = Base::Image(key.clone()).to_string();
        let wrong = |reason| SandboxError::Image { image: image.clone(), reason };
        let found = inner.images.find(key).map_err(|error| wrong(error.to_string()))?;
        let missing = || "it is not built: run `lamp image list`, or build it again".to_owned();
        let built = found.ok_or_else(|| wrong(missing()))?;
        let base: Base = built.provenance.base.parse().map_err(wrong)?;
        let (mut below, _) = Box::pin(self.find(inner, &base)).await?;
        below.environment.extend(built.provenance.environment.clone());
        inner.images.touch(key, inner.now()).map_err(|error| wrong(error.to_string()))?;
        let stack = Stack {
            layers: built.layers.iter().map(|layer| layer.name.to_string()).collect(),
            image: Some(key.to_string()),
            sources: built.provenance.sources.clone(),
            ..below
        };
        Ok((stack, Digest::of(key.as_str().as_bytes())))
    }

    /// The least that a first process can start from, to find out what this host gives.
    pub(super) fn bare(inner: &Inner) -> Result<Stack, String> {
        inner
            .skeleton(&Accounts::ours(), &Skeleton::default())
            .map(|layer| Stack { layers: vec![layer.to_string()], ..Stack::default() })
    }

    /// Whether something newer stands where this was found.
    pub(super) fn is_stale(&self, stack: &Stack) -> bool {
        let found = self.lock();
        // Members with repositories show more of the host than their base does.
        let is_of =
            |base: &Stack| base.layers == stack.layers && stack.binds.starts_with(&base.binds);
        stack.image.is_none() && !found.values().any(|found| is_of(&found.stack))
    }

    /// Forgets all that was found out; the next who asks looks again.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    pub(super) fn kept(&self) -> Vec<Stack> {
        self.lock().values().map(|found| found.stack.clone()).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// As whom a setup runs: as root where there is one, so that it can install packages.
    pub(crate) const fn setup_user(&self) -> User {
        match self.identity {
            Identity::Root => User::Root,
            Identity::Ordinary => User::Agent,
        }
    }

    const fn owner(&self) -> Owner {
        match self.identity {
            Identity::Root => Owner { base: Some(STORED_IDS) },
            Identity::Ordinary => Owner { base: None },
        }
    }

    fn rules(&self) -> Rules {
        Rules { owner: self.owner(), whiteouts: Whiteouts::Ordinary, limits: Limits::default() }
    }

    fn host(&self) -> Result<(Stack, Digest), String> {
        let sentence = |error: BaseError| error.sentence();
        let view = HostView::of_this_host(&self.settings.toolchains).map_err(sentence)?;
        let mut more = Skeleton::default();
        more.extend(view.skeleton.iter().cloned());
        let skeleton = self.skeleton(&Accounts::ours(), &more)?;
        let binds = view.binds.iter().map(|bind| (bind.from.clone(), bind.to.clone())).collect();
        let layers = vec![skeleton.to_string()];
        let environment = self.settings.tools.environment(PATH);
        let digest = if environment.is_empty() {
            view.digest()
        } else {
            Digest::of(format!("{}\n{environment:?}", view.digest()).as_bytes())
        };
        Ok((Stack { layers, binds, environment, ..Stack::in_workspace() }, digest))
    }

    /// The layer that every sandbox stands on, above its base.
    fn skeleton(&self, accounts: &Accounts, more: &Skeleton) -> Result<LayerName, String> {
        let mut skeleton = Skeleton::new(accounts, HOSTNAME);
        skeleton.extend(more.entries().cloned());
        let name = named("skeleton", &skeleton.digest())?;
        import(&self.disks, &name, |into| skeleton.write(into, self.owner()))?;
        Ok(name)
    }

    fn root_file_system(&self, path: &Path) -> Result<(Stack, Digest), String> {
        let digest = rootfs::fingerprint(path).map_err(|error| error.sentence())?;
        let name = named("root", &digest)?;
        let Rules { owner, limits, .. } = self.rules();
        let root = import(&self.disks, &name, |into| {
            if path.is_dir() {
                rootfs::import_directory(path, into, owner, limits).map(drop)
            } else {
                rootfs::import_tar(path, into, owner, limits).map(drop)
            }
        })?;
        let accounts = Accounts::of_layers(&[root], owner);
        let skeleton = self.skeleton(&accounts, &Skeleton::default())?;
        let layers = vec![skeleton.to_string(), name.to_string()];
        Ok((Stack { layers, ..Stack::in_workspace() }, digest))
    }

    async fn oci(&self, reference: &str) -> Result<(Stack, Digest), String> {
        let sentence = |error: BaseError| error.sentence();
        let scratch = self.settings.data.join("scratch");
        std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
        let source = Source::of(reference).map_err(sentence)?;
        let image = oci::find(&source, &Registry::default(), &scratch).await.map_err(sentence)?;
        let (mut names, mut paths) = (Vec::new(), Vec::new());
        for layer in &image.layers {
            let name = named("oci", &layer.diff_id)?;
            let path = match self.disks.layer(&name) {
                Ok(path) => path,
                Err(_missing) => {
                    let blob = image.fetch(layer, &scratch).await.map_err(sentence)?;
                    import(&self.disks, &name, |into| blob.unpack(into, &self.rules()).map(drop))?
                }
            };
            // The image tells the lowest first; an overlay wants the uppermost first.
            names.insert(0, name.to_string());
            paths.insert(0, path);
        }
        let accounts = Accounts::of_layers(&paths, self.owner());
        names.insert(0, self.skeleton(&accounts, &Skeleton::default())?.to_string());
        let environment = image.config.environment.clone().into_iter().collect();
        let stack = Stack { layers: names, environment, ..Stack::in_workspace() };
        Ok((stack, image.digest))
    }
}

fn named(kind: &str, digest: &Digest) -> Result<LayerName, String> {
    let name: Result<LayerName, _> = format!("{kind}-{}", digest.hex()).parse();
    name.map_err(|error| error.to_string())
}

fn import(
    disks: &Disks,
    name: &LayerName,
    fill: impl FnOnce(&Path) -> Result<(), BaseError>,
) -> Result<std::path::PathBuf, String> {
    let made = tokio::task::block_in_place(|| disks.import_layer(name, fill));
    made.map(|made| made.path).map_err(|error| match error {
        images::disk::ImportError::Fill(error) => error.sentence(),
        images::disk::ImportError::Disk(error) => error.to_string(),
    })
}
