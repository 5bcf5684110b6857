//! The keys that receipts are signed with, and the one that seals what people say: made at the first start, below `<data>/keys`.

use std::{
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use evidence::keys::{SealKey, ring::KeyRing};
use terminal::report::Hint;
use zeroize::Zeroizing;

/// Opens the keys of this data directory.
pub(crate) fn open(data: &Path) -> anyhow::Result<KeyRing> {
    let what = || {
        Hint::new(
            "cannot use the keys that receipts are signed with",
            "do what is said above; without a key nothing can be proven",
        )
    };
    let directory = directory(data).with_context(what)?;
    KeyRing::open(&directory, seed().with_context(what)?).with_context(what)
}

/// Opens the key that seals what comes through this server's doors. Sandboxes, repositories and clients never see it.
pub(crate) fn open_seal(data: &Path) -> anyhow::Result<SealKey> {
    let what = || {
        Hint::new(
            "cannot use the key that seals what people say on pull requests",
            "do what is said above; without it nobody is known to have said anything",
        )
    };
    let directory = directory(data).with_context(what)?;
    SealKey::open(&directory, &seed().with_context(what)?).with_context(what)
}

fn directory(data: &Path) -> std::io::Result<PathBuf> {
    let directory = data.join("keys");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    Ok(directory)
}

fn seed() -> std::io::Result<Zeroizing<[u8; 32]>> {
    let mut seed = Zeroizing::new([0u8; 32]);
    let mut filled = 0;
    while filled < seed.len() {
        let rest = seed.get_mut(filled..).unwrap_or_default();
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(rest, flags)?;
    }
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_owner_only() {
        let data = tempfile::tempdir().unwrap();
        let first = open(data.path()).unwrap().signing().public();
        assert_eq!(open(data.path()).unwrap().signing().public(), first);
        let mode = |name: &str| {
            fs_err::metadata(data.path().join(name)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((mode("keys"), mode("keys/signing.key")), (0o700, 0o600));
        let seal = open_seal(data.path()).unwrap().seal(b"said");
        assert!(open_seal(data.path()).unwrap().has_sealed(b"said", seal));
        assert_eq!(mode("keys/records.key"), 0o600);
    }
}
