//! Plain git on this host: the mirrors that the sandboxes stand on, and the keeper of secrets.

use std::{borrow::Cow, sync::Arc};

use ::secrets::keeper::Keeper;
use anyhow::Context as _;
use contracts::clock::{Clock as _, SystemClock};
use evidence::keys::SealKey;
use forges::{
    Custom, GitHost, PlainGit,
    inspection::{KnownSecrets, Limits, Submodules},
};
use git::Mirrors;
use sandbox::Provider;
use terminal::report::Hint;

use super::style::Names;

/// The forge of every repository that git reaches.
pub(crate) type PlainForge = PlainGit<Provider>;

/// Opens it, and throws away what a server before this one left unfinished. Nothing may be taken yet.
pub(crate) fn open(
    sandboxes: &Provider,
    (keeper, seal): (&Keeper, SealKey),
    names: Names,
) -> anyhow::Result<PlainForge> {
    let host = host(sandboxes.mirrors().clone(), keeper, seal, names);
    PlainGit::open(host, sandboxes.clone()).with_context(|| {
        Hint::new("cannot take work out of sandboxes", "look at the data directory's rights")
    })
}

fn host(mirrors: Mirrors, keeper: &Keeper, seal: SealKey, names: Names) -> GitHost {
    GitHost {
        mirrors,
        secrets: Arc::new(Values(keeper.clone())),
        seal,
        custom: Custom {
            author: names.author,
            committer: names.committer,
            signing_key: names.key,
            limits: Limits::default(),
            submodules: Submodules::default(),
        },
        clock: Arc::new(|| SystemClock.now()),
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

#[cfg(test)]
#[path = "house_tests.rs"]
mod tests;
