//! Bare repositories on the host, which sandboxes stand on.
//!
//! ```text
//!  remote ──fetch──▶ mirrors/acme+web.git (bare, 0700)
//!                        └─ objects ──bound, read-only──▶ sandboxes
//! ```
//!
//! The host fetches and looks up commits; it never checks anything out, runs no hook and reads no file of a repository. Files with
//! hostile names, attributes and links come to be inside a sandbox only.
//!
//! Invariant: an object that was once in a mirror stays there, because a sandbox may stand on it.

mod alone;
mod error;
mod fetch;
mod folder;
mod reading;
mod references;

use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::code::{CommitId, RepositoryName};
use fs_err as fs;

pub use alone::Alone;
pub use error::MirrorError;
pub use folder::Filed;
pub use references::References;

use crate::{
    mirror::Mirror,
    program::{Git, Hash},
    remote::ORIGIN,
    source::Source,
};

/// The bare mirrors of this host. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Mirrors {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    git: Git,
    limits: FetchLimits,
    /// Commits that were seen. They never go, so nobody needs to ask git again.
    seen: Mutex<HashSet<(RepositoryName, CommitId)>>,
    /// One fetch of a mirror at a time, in this process; a lock on a file does the same for others.
    fetching: Mutex<HashMap<RepositoryName, Arc<tokio::sync::Mutex<()>>>>,
}

/// What one mirror may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// For one fetch.
    pub time: Duration,
    /// Of all packs together.
    pub bytes: u64,
    /// Of address space, for each process of a fetch. It is there for packs that unfold without end; an honest one of the largest
    /// size stays below it.
    pub memory_bytes: u64,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { time: Duration::from_mins(30), bytes: 32 << 30, memory_bytes: 8 << 30 }
    }
}

impl Mirrors {
    /// Mirrors in the directory `root`, which nobody else may look into, kept by the program `git`.
    pub fn open(root: &Path, git: &Path, limits: FetchLimits) -> Result<Self, MirrorError> {
        fs::create_dir_all(root)?;
        fs::set_permissions(root, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        let home = root.join("home");
        fs::create_dir_all(&home)?;
        let git = Git::new(git, &home);
        let shared = Shared {
            root: root.to_owned(),
            git,
            limits,
            seen: Mutex::default(),
            fetching: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Remembers where `name` comes from. Again with the same place changes nothing but the secret in it. Another place is
    /// refused once something was fetched: whoever may see the one repository would see the objects of the other.
    /// Nothing is fetched yet.
    pub async fn register(&self, name: &RepositoryName, url: &str) -> Result<(), MirrorError> {
        let source: Source = url.parse()?;
        let mirror = self.mirror(name);
        if !mirror.join("HEAD").is_file() {
            self.shared.git.init_readable(&mirror).await?;
        }
        let known = || match self.known(name) {
            Ok(known) => Ok(Some(known.source)),
            Err(MirrorError::Unknown { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        // A fetch can take long, and who says nothing new need not wait for it.
        if known()?.as_ref() == Some(&source) {
            return Ok(());
        }
        let _alone = self.alone_in(name, &mirror).await?;
        let known = known()?;
        if let Some(known) = known.filter(|known| !known.is_same_place(&source))
            && fetch::holds_objects(&mirror)?
        {
            let (known, asked) = (format!("{known:?}"), format!("{source:?}"));
            return Err(MirrorError::Elsewhere { repository: name.clone(), known, asked });
        }
        write_private(&mirror.join("lamp-source"), source.as_str())?;
        configure(&mirror, &source, hash_of(&mirror))
    }

    /// Where they are. Nobody else may look into it.
    pub fn root(&self) -> &Path {
        &self.shared.root
    }

    /// The program that keeps them.
    pub fn git(&self) -> &Git {
        &self.shared.git
    }

    /// Every repository that was registered, in order.
    pub fn registered(&self) -> Result<Vec<RepositoryName>, MirrorError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.shared.root)? {
            let file = entry?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".git"));
            if let Some(Ok(name)) =
                name.map(|name| name.replace('+', "/").parse::<RepositoryName>())
            {
                names.push(name);
            }
        }
        names.retain(|name| self.mirror(name).join("lamp-source").is_file());
        names.sort();
        Ok(names)
    }

    /// Whether anything of it was ever fetched.
    pub fn is_fetched(&self, name: &RepositoryName) -> Result<bool, MirrorError> {
        fetch::holds_objects(&self.mirror(name))
    }

    /// The directory that is bound read-only into sandboxes. It holds objects and nothing else.
    pub fn objects(&self, name: &RepositoryName) -> PathBuf {
        self.mirror(name).join("objects")
    }

    /// `/` is no part of a file's name, and `+` is no part of a repository's.
    pub(crate) fn mirror(&self, name: &RepositoryName) -> PathBuf {
        self.shared.root.join(format!("{}.git", name.as_str().replace('/', "+")))
    }

    /// The mirror of a repository that was registered.
    pub fn known(&self, name: &RepositoryName) -> Result<Mirror, MirrorError> {
        let path = self.mirror(name);
        match fs::read_to_string(path.join("lamp-source")) {
            Ok(url) => Ok(Mirror { path, source: url.parse()? }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(MirrorError::Unknown { repository: name.clone() })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn saw(&self, name: &RepositoryName, commit: &CommitId) {
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert((name.clone(), commit.clone()));
    }

    fn has_seen(&self, name: &RepositoryName, commit: &CommitId) -> bool {
        let seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.contains(&(name.clone(), commit.clone()))
    }
}

/// The address may hold a secret: it is in a file of ours, not among arguments that everyone can list.
fn configure(mirror: &Path, source: &Source, hash: Hash) -> Result<(), MirrorError> {
    let (version, extension) = match hash {
        Hash::Sha1 => (0, ""),
        Hash::Sha256 => (1, "[extensions]\n\tobjectFormat = sha256\n"),
    };
    let url = source.as_str().replace('\\', "\\\\").replace('"', "\\\"");
    // Sandboxes read the objects as somebody else, whatever the server's umask was.
    let config = format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n\tsharedRepository = 0644\n{extension}\
         [remote \"{ORIGIN}\"]\n\turl = \"{url}\"\n\tfetch = +refs/heads/*:refs/heads/*\n\
         \tfetch = +refs/tags/*:refs/tags/*\n\
         [gc]\n\tauto = 0\n\tpruneExpire = never\n\tcruftPacks = false\n"
    );
    write_private(&mirror.join("config"), &config)
}

fn hash_of(mirror: &Path) -> Hash {
    let config = fs::read_to_string(mirror.join("config")).unwrap_or_default();
    if config.contains("objectFormat = sha256") { Hash::Sha256 } else { Hash::Sha1 }
}

/// Replaces a file that only we may read, in one step.
fn write_private(path: &Path, content: &str) -> Result<(), MirrorError> {
    files::write(path, content.as_bytes(), files::PRIVATE, files::Durability::Synced)?;
    Ok(())
}
