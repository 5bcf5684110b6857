//! Plain git on this host: [`forges::House`] over the mirrors that the sandboxes stand on, and the keeper of secrets.
//!
//! ```text
//!  engine ── PlainGit ── House ──▶ mirrors (one writer at a time)   sandboxes   keeper: what must not leave
//! ```
//!
//! Invariant: whoever writes into a mirror holds the lock that fetches hold.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use ::secrets::keeper::Keeper;
use anyhow::Context as _;
use contracts::{
    clock::SystemClock,
    forge::Taking,
    sandbox::{SandboxError, Sandboxes},
};
use domain::{
    code::{PullRequestNumber, RepositoryName},
    digest::Digest,
    id::SandboxId,
};
use evidence::keys::SealKey;
use forges::{
    Custom, Git, HouseError, Mirror, PlainGit, Remote, Transport,
    inspection::{KnownSecrets, Limits, Submodules},
};
use sandbox::{
    Provider,
    repositories::{Alone, MirrorError, Mirrors, Source, Transport as Road},
};
use terminal::report::Hint;

use super::style::Names;

/// The forge of every repository that git reaches.
pub(crate) type PlainForge = PlainGit<House<Provider>>;

/// Opens it, and throws away what a server before this one left unfinished. Nothing may be taken yet.
pub(crate) fn open(
    sandboxes: &Provider,
    (keeper, seal): (&Keeper, SealKey),
    names: Names,
) -> anyhow::Result<PlainForge> {
    let mirrors = sandboxes.mirrors().clone();
    let house = House::new(sandboxes.clone(), mirrors, (keeper.clone(), seal), names)?;
    let forge = PlainGit::new(house);
    forge.clear_scratch().with_context(cannot)?;
    Ok(forge)
}

fn cannot() -> Hint {
    Hint::new("cannot take work out of sandboxes", "look at the data directory's rights")
}

/// A host with mirrors, sandboxes and secrets.
#[derive(Debug, Clone)]
pub(crate) struct House<S> {
    sandboxes: S,
    mirrors: Mirrors,
    secrets: Values,
    /// With what comes through our doors sealed, where others can write as well.
    seal: SealKey,
    names: Names,
    git: Git,
    /// Work that came out and was not looked at yet.
    scratch: PathBuf,
}

impl<S> House<S> {
    fn new(
        sandboxes: S,
        mirrors: Mirrors,
        (keeper, seal): (Keeper, SealKey),
        names: Names,
    ) -> anyhow::Result<Self> {
        let scratch = mirrors.root().join("takings");
        fs_err::create_dir_all(&scratch).with_context(cannot)?;
        let (program, home) = mirrors.git();
        let git = Git::new(program, home);
        Ok(Self { sandboxes, mirrors, secrets: Values(keeper), seal, names, git, scratch })
    }
}

/// Sandboxes that say where they show a repository.
pub(crate) trait Shows: Sandboxes {
    /// Where the objects of its mirror are, inside.
    fn objects(&self, at: SandboxId, of: &RepositoryName) -> Result<String, SandboxError>;
}

impl Shows for Provider {
    fn objects(&self, at: SandboxId, of: &RepositoryName) -> Result<String, SandboxError> {
        self.objects_inside(at, of)
    }
}

impl<S: Shows> forges::House for House<S> {
    type Sandboxes = S;
    type Clock = SystemClock;
    type Secrets = Values;
    type Alone = Alone;

    fn sandboxes(&self) -> &S {
        &self.sandboxes
    }

    fn clock(&self) -> &SystemClock {
        &SystemClock
    }

    fn secrets(&self) -> &Values {
        &self.secrets
    }

    fn git(&self) -> &Git {
        &self.git
    }

    fn scratch(&self) -> &Path {
        &self.scratch
    }

    fn mirror(&self, repository: &RepositoryName) -> Result<Mirror, HouseError> {
        let (path, source) = self.mirrors.known(repository).map_err(mirror_trouble)?;
        let remote = Remote {
            name: "origin".to_owned(),
            transport: transport(&source),
            secrets: source.secret().map(str::to_owned).into_iter().collect(),
        };
        Ok(Mirror { path, remote })
    }

    async fn fetch(&self, repository: &RepositoryName) -> Result<(), HouseError> {
        self.mirrors.fetch(repository, None).await.map_err(mirror_trouble)
    }

    async fn alone(&self, repository: &RepositoryName) -> Result<Alone, HouseError> {
        self.mirrors.alone(repository).await.map_err(mirror_trouble)
    }

    async fn custom(&self, taking: &Taking) -> Result<Custom, HouseError> {
        let objects = self.sandboxes.objects(taking.sandbox, &taking.repository);
        Ok(Custom {
            objects: objects.map_err(sandbox_trouble)?,
            author: self.names.author.clone(),
            committer: self.names.committer.clone(),
            signing_key: self.names.key.clone(),
            limits: Limits::default(),
            submodules: Submodules::default(),
        })
    }

    fn seal(&self, bytes: &[u8]) -> Digest {
        self.seal.seal(bytes)
    }

    fn has_sealed(&self, bytes: &[u8], seal: Digest) -> bool {
        self.seal.has_sealed(bytes, seal)
    }

    /// There is no page to look at it; this is the command that shows it.
    fn address(&self, repository: &RepositoryName, number: PullRequestNumber) -> String {
        format!("lamp pr get {} --repo {repository}", number.0)
    }
}

fn transport(source: &Source) -> Transport {
    match (source.directory(), source.transport()) {
        (Some(directory), _) => Transport::Directory(directory.to_owned()),
        // A path is always a directory; without one there is nothing to reach.
        (None, Road::File) => Transport::Directory(PathBuf::new()),
        (None, Road::Http) => Transport::Http,
        (None, Road::Https) => Transport::Https,
        (None, Road::Ssh) => Transport::Ssh,
    }
}

/// The values that the keeper keeps, in any spelling.
#[derive(Debug, Clone)]
pub(crate) struct Values(Keeper);

impl KnownSecrets for Values {
    /// Who cannot know the values lets nothing out.
    fn is_in(&self, bytes: &[u8]) -> bool {
        match self.0.redactions() {
            Ok(redactions) => matches!(redactions.bytes(bytes), Cow::Owned(_)),
            Err(_) => true,
        }
    }
}

fn mirror_trouble(error: MirrorError) -> HouseError {
    let reason = error.to_string();
    match error {
        MirrorError::Unknown { repository } => HouseError::NoRepository(repository),
        MirrorError::Slow { .. } | MirrorError::Git { .. } | MirrorError::Disk(_) => {
            HouseError::Busy { reason }
        }
        MirrorError::Address { .. }
        | MirrorError::Elsewhere { .. }
        | MirrorError::Revision { .. }
        | MirrorError::Large { .. } => HouseError::Refused { reason },
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn sandbox_trouble(error: SandboxError) -> HouseError {
    let reason = error.to_string();
    match error {
        SandboxError::Busy { .. } | SandboxError::Resting { .. } | SandboxError::NoRoom { .. } => {
            HouseError::Busy { reason }
        }
        SandboxError::NotFound { .. }
        | SandboxError::Destroyed { .. }
        | SandboxError::NameTaken { .. }
        | SandboxError::TierMissing { .. }
        | SandboxError::Limit { .. }
        | SandboxError::Image { .. }
        | SandboxError::Setup { .. }
        | SandboxError::Source { .. }
        | SandboxError::Hook { .. }
        | SandboxError::ProgramMissing { .. }
        | SandboxError::Directory { .. }
        | SandboxError::Unsupported { .. }
        | SandboxError::Lost { .. } => HouseError::Refused { reason },
    }
}

#[cfg(test)]
#[path = "house_tests.rs"]
mod tests;
