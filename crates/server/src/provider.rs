//! The sandboxes that `lamp up` serves.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use config::server::ServerFile;
use contracts::{
    clock::{Clock as _, SystemClock},
    egress::Road,
    ids::SystemIds,
    order::KnownRepository,
    sandbox::{Checkout, SandboxError},
};
use domain::code::{Access, RepositoryName};
use futures::future::BoxFuture;
use gateway::sockets::{Source, Sources};
use git::MirrorError;
use images::base::host::{self, HostView, Tools};
use sandbox::{PoolSettings, Provider, Retention, Settings, Walls};
use terminal::report::Hint;

/// What this host has for sandboxes: `sandboxes` and `retention` of a `lamp.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quarters {
    /// The most that disks and images may use together. A new pool takes less where less is free.
    disk_bytes: u64,
    /// What every open sandbox has for sure.
    disk_guaranteed_bytes: u64,
    /// How many wait, booted, of one kind.
    warm: u32,
    /// How long one that hibernates is kept.
    keep: Duration,
    /// How long an image that nobody uses is kept.
    keep_images: Duration,
    /// Absolute, with the key that names each.
    toolchains: Vec<(String, PathBuf)>,
    /// Whether those in the home are looked for: nobody named any.
    looks: Looks,
    /// How what is in them is found.
    tools: Tools,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    Yes,
    No,
}

impl Quarters {
    /// As the file at `path` has it. Relative directories stand beside it.
    pub(crate) fn of(file: &ServerFile, path: &Path) -> anyhow::Result<Self> {
        let beside = path.parent().unwrap_or(Path::new(""));
        let toolchains = file.sandboxes.toolchains.iter().flatten().enumerate();
        let toolchains = toolchains.map(|(index, named)| {
            let key = format!("`sandboxes.toolchains[{index}]` of `{}`", path.display());
            let directory = std::path::absolute(beside.join(named.as_str()));
            directory.map(|directory| (key, directory)).context("cannot tell where we are")
        });
        let toolchains = toolchains.collect::<anyhow::Result<Vec<(String, PathBuf)>>>()?;
        let mut tools = Tools::default();
        for (_, directory) in &toolchains {
            tools.add(directory);
        }
        Ok(Self { toolchains, tools, ..Self::without_toolchains(file) })
    }

    /// The same with the toolchains of a home, where nobody named any.
    pub(crate) fn at_home(mut self, home: Option<&Path>) -> Self {
        if let (Looks::Yes, Some(home)) = (self.looks, home) {
            let found = host::find(home);
            let named = found.shown().map(|place| ("a toolchain".to_owned(), place.clone()));
            self.toolchains = named.collect();
            self.tools = found.tools;
        }
        self
    }

    fn without_toolchains(file: &ServerFile) -> Self {
        Self {
            disk_bytes: file.sandboxes.disk_budget.bytes(),
            disk_guaranteed_bytes: file.sandboxes.disk_guaranteed.bytes(),
            warm: u32::try_from(file.sandboxes.warm.get()).unwrap_or(u32::MAX),
            keep: file.retention.sandboxes.get(),
            keep_images: file.retention.images.get(),
            toolchains: Vec::new(),
            looks: match file.sandboxes.toolchains {
                Some(_) => Looks::No,
                None => Looks::Yes,
            },
            tools: Tools::default(),
        }
    }

    /// Refuses a toolchain that must not be shown to sandboxes, by the key that names it.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (key, directory) in &self.toolchains {
            if let Err(error) = HostView::of_this_host(std::slice::from_ref(directory)) {
                let hint = "change this entry, or remove it";
                let what = Hint::new(format!("cannot use {key}"), hint);
                return Err(anyhow::anyhow!(error.sentence()).context(what));
            }
        }
        Ok(())
    }
}

impl Default for Quarters {
    fn default() -> Self {
        Self::without_toolchains(&ServerFile::default())
    }
}

/// Starts them, and finds again those that a server before this one left running.
pub(crate) async fn start(
    data: &Path,
    run: &Path,
    quarters: &Quarters,
    road: Arc<dyn Road>,
) -> anyhow::Result<Provider> {
    let pool = PoolSettings::default();
    let settings = Settings {
        data: data.join("sandboxes"),
        run: run.join("sandboxes"),
        toolchains: quarters.toolchains.iter().map(|(_, directory)| directory.clone()).collect(),
        tools: quarters.tools.clone(),
        disk_bytes: quarters.disk_bytes,
        disk_guaranteed_bytes: quarters.disk_guaranteed_bytes,
        retention: Retention {
            delete_after: quarters.keep,
            forget_images_after: quarters.keep_images,
            ..Retention::default()
        },
        pool: PoolSettings {
            most_of_a_kind: quarters.warm,
            most: pool.most.max(quarters.warm),
            ..pool
        },
        walls: Walls::ByTier,
        road: Some(road),
        clock: Arc::new(|| SystemClock.now()),
        ids: Arc::new(SystemIds),
    };
    Provider::start(settings).await.with_context(|| {
        Hint::new("cannot start the sandboxes", "run `lamp doctor` to see what this computer lacks")
    })
}

/// Repositories by their addresses: mirrored on this host, and brought up to date whenever they are asked for.
#[derive(Debug, Clone)]
pub(crate) struct Mirrored(pub(crate) Provider);

impl Sources for Mirrored {
    fn resolve<'a>(
        &'a self,
        wanted: &'a [Source],
    ) -> BoxFuture<'a, Result<Vec<Checkout>, SandboxError>> {
        Box::pin(async move {
            let mut checkouts = Vec::with_capacity(wanted.len());
            for Source { name, url, revision } in wanted {
                checkouts.push(self.bring_up_to_date(name, url, revision.as_deref()).await?);
            }
            Ok(checkouts)
        })
    }
}

impl Mirrored {
    /// Every repository that was ever brought here, by name. One whose first fetch failed is not known: its address may have been a mistake.
    pub(crate) fn known(&self) -> Result<Vec<KnownRepository>, MirrorError> {
        let mirrors = self.0.mirrors();
        let names = mirrors.registered()?;
        let is_here = |name: &RepositoryName| mirrors.is_fetched(name).unwrap_or(false);
        let known = names.into_iter().filter(is_here).map(|name| {
            let url = mirrors.address(&name)?;
            Ok(KnownRepository { name, url })
        });
        known.collect()
    }

    /// The repository of this address, by this name from now on, at the newest that it has.
    pub(crate) async fn bring_up_to_date(
        &self,
        name: &RepositoryName,
        url: &str,
        revision: Option<&str>,
    ) -> Result<Checkout, SandboxError> {
        let mirrors = self.0.mirrors();
        let fetched = async {
            mirrors.register(name, url).await?;
            mirrors.fetch(name, None).await?;
            // Somebody may have named another place before anything was there; what was fetched then is not what was asked for.
            mirrors.register(name, url).await?;
            mirrors.resolve(name, revision.unwrap_or("HEAD")).await
        };
        let commit = fetched.await.map_err(|error: MirrorError| SandboxError::Source {
            repository: name.to_string(),
            reason: error.to_string(),
        })?;
        Ok(Checkout { repository: name.clone(), commit, access: Access::Write })
    }
}

#[cfg(test)]
mod tests {
    use config::{Checked, FileKind};

    use super::*;

    fn quarters(text: &str) -> Quarters {
        let checked = config::check_as(FileKind::Server, "lamp.yaml", text).unwrap();
        let Checked::Server(file) = checked else { panic!("{checked:?}") };
        Quarters::of(&file, Path::new("/srv/lamp/lamp.yaml")).unwrap()
    }

    #[test]
    fn a_file_without_the_keys_and_no_file_at_all_are_the_same() {
        assert_eq!(quarters("version: 1\n"), Quarters::default());
    }

    #[test]
    fn a_file_says_what_sandboxes_have_here() {
        let told = quarters(
            "version: 1\nretention: { sandboxes: 2d, images: 3d }\nsandboxes:\n  disk_budget: 10GiB\n  warm: 3\n  \
             toolchains: [tools, ./more, /opt/sdk]\n",
        );
        let named = ["/srv/lamp/tools", "/srv/lamp/more", "/opt/sdk"].map(PathBuf::from);
        let toolchains: Vec<_> = told.toolchains.iter().map(|(_, path)| path.clone()).collect();
        assert_eq!(toolchains, named);
        assert_eq!((told.disk_bytes, told.warm), (10 << 30, 3));
        assert_eq!(told.keep, Duration::from_hours(48));
        assert_eq!(told.keep_images, Duration::from_hours(72));
    }
}
