//! The directory that keeps a server's keys: one that signs, and the public halves of all that ever did.
//!
//! ```text
//!  <directory>/signing.key          the key that signs; mode 0600, refused when others may read it
//!  <directory>/records.key          the key that seals what people say; mode 0600 as well ([`super::SealKey`])
//!  <directory>/public/<keyid>.pem   every public key since the first start; whoever checks receipts is given these
//! ```
//!
//! **Invariant:** nobody gets a key to sign with before both of its halves are on the disk, so there is never a signature that nobody can check.
//! The key itself is written first: a public half that is missing after a crash is made of it again.
//! A key that is turned over ([`KeyRing::rotate`]) signs nothing more, and its public half stays. Whoever no longer believes one, because
//! it was stolen, takes its file away.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
use zeroize::Zeroizing;

use super::{KeyError, KeyId, PublicKey, SigningKey, TrustedKeys};

const SIGNING: &str = "signing.key";
const PUBLIC: &str = "public";

/// Bytes of a key file: ours have fewer than 200.
const FILE_LIMIT: u64 = 4096;
/// Keys in one directory: one a day for three years.
const KEYS_LIMIT: usize = 1000;

/// A server's keys.
#[derive(Debug)]
pub struct KeyRing {
    directory: PathBuf,
    signing: SigningKey,
    trusted: TrustedKeys,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyRingError {
    #[error("`{path}` cannot be used")]
    Disk { path: PathBuf, source: io::Error },
    #[error(
        "others may read or write `{path}` (mode {mode:04o}); take that away with `chmod 600 {path}`, and turn the key over if somebody may have read it"
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error(
        "`{path}` belongs to user {owner}, not to the one that this server runs as; give it back with `chown`"
    )]
    Foreign { path: PathBuf, owner: u32 },
    #[error("`{path}` is not usable: {reason}")]
    Malformed { path: PathBuf, reason: KeyError },
    #[error("`{path}` is not a plain file of at most {FILE_LIMIT} bytes")]
    NotAFile { path: PathBuf },
    #[error("`{path}` holds the key `{holds}`, not the one that it is named after")]
    Misnamed { path: PathBuf, holds: KeyId },
    #[error(
        "there are public keys, but no `{path}`; bring it back from where it was, or remove the directory `{PUBLIC}` beside it to begin anew"
    )]
    Lost { path: PathBuf },
    #[error(
        "there are more than {KEYS_LIMIT} public keys in `{path}`; take away those that nobody needs"
    )]
    TooMany { path: PathBuf },
    #[error("the new key cannot be used: {0}")]
    Seed(KeyError),
}

impl KeyRing {
    /// Reads the keys in `directory`, or makes the first one of `seed`, if there was never one. `directory` is there, and only its owner writes in it.
    pub fn open(directory: &Path, seed: Zeroizing<[u8; 32]>) -> Result<Self, KeyRingError> {
        let public = directory.join(PUBLIC);
        if let Err(source) = fs::create_dir(&public)
            && source.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(KeyRingError::Disk { path: public, source });
        }
        let mut listed = read_public(&public)?;
        let path = directory.join(SIGNING);
        let signing = match read_signing(&path)? {
            Some(signing) => signing,
            None if listed.is_empty() => SigningKey::from_seed(seed).map_err(KeyRingError::Seed)?,
            // Making another one would hide that something is missing.
            None => return Err(KeyRingError::Lost { path }),
        };
        keep(directory, &signing)?;
        listed.push(signing.public());
        Ok(Self { directory: directory.to_owned(), signing, trusted: listed.into_iter().collect() })
    }

    /// From now on a key made of `seed` signs. The public half of the former one stays.
    pub fn rotate(&mut self, seed: Zeroizing<[u8; 32]>) -> Result<KeyId, KeyRingError> {
        let signing = SigningKey::from_seed(seed).map_err(KeyRingError::Seed)?;
        keep(&self.directory, &signing)?;
        let listed = read_public(&self.directory.join(PUBLIC))?;
        self.trusted = listed.into_iter().collect();
        self.signing = signing;
        Ok(self.signing.public().id())
    }

    pub const fn signing(&self) -> &SigningKey {
        &self.signing
    }

    /// The key that signs, for whoever signs from now on.
    pub fn into_signing(self) -> SigningKey {
        self.signing
    }

    /// The key that signs now and those before it.
    pub const fn trusted(&self) -> &TrustedKeys {
        &self.trusted
    }
}

/// Puts both halves on the disk, where they are not there yet.
fn keep(directory: &Path, signing: &SigningKey) -> Result<(), KeyRingError> {
    let public = signing.public();
    let path = directory.join(SIGNING);
    let is_there = read_signing(&path)?.is_some_and(|kept| kept.public() == public);
    if !is_there {
        write(&path, signing.to_pem().as_bytes(), 0o600)?;
    }
    let path = directory.join(PUBLIC).join(format!("{}.pem", public.id()));
    if path.exists() {
        return Ok(());
    }
    write(&path, public.to_pem().as_bytes(), 0o644)
}

fn read_signing(path: &Path) -> Result<Option<SigningKey>, KeyRingError> {
    let Some(text) = read_secret(path)? else { return Ok(None) };
    let malformed = |reason| KeyRingError::Malformed { path: path.to_owned(), reason };
    SigningKey::from_pem(&text).map(Some).map_err(malformed)
}

/// What only its owner may read, and refused where that is not so. `None` if there is nothing.
pub(super) fn read_secret(path: &Path) -> Result<Option<Zeroizing<String>>, KeyRingError> {
    let Some(file) = open(path)? else { return Ok(None) };
    let found = file.metadata().map_err(|source| disk(path, source))?;
    let mode = found.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyRingError::Exposed { path: path.to_owned(), mode });
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyRingError::Foreign { path: path.to_owned(), owner: found.uid() });
    }
    read(path, file).map(Some)
}

fn read_public(directory: &Path) -> Result<Vec<PublicKey>, KeyRingError> {
    let mut keys = Vec::new();
    for entry in fs::read_dir(directory).map_err(|source| disk(directory, source))? {
        let path = entry.map_err(|source| disk(directory, source))?.path();
        let named = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".pem"));
        // Half-written and hidden files are nobody's keys.
        let Some(name) = named.filter(|name| !name.starts_with('.')) else { continue };
        if keys.len() == KEYS_LIMIT {
            return Err(KeyRingError::TooMany { path: directory.to_owned() });
        }
        let Some(file) = open(&path)? else { continue };
        let text = read(&path, file)?;
        let malformed = |reason| KeyRingError::Malformed { path: path.clone(), reason };
        let key: PublicKey = text.parse().map_err(malformed)?;
        if key.id().to_string() != name {
            return Err(KeyRingError::Misnamed { path, holds: key.id() });
        }
        keys.push(key);
    }
    Ok(keys)
}

/// A plain file, not what a link leads to. `None` if there is none.
fn open(path: &Path) -> Result<Option<fs::File>, KeyRingError> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let mut options = fs::OpenOptions::new();
    options.read(true).custom_flags(i32::from_ne_bytes(flags.to_ne_bytes()));
    let file = match options.open(path) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(disk(path, source)),
    };
    let found = file.metadata().map_err(|source| disk(path, source))?;
    if !found.is_file() || found.len() > FILE_LIMIT {
        return Err(KeyRingError::NotAFile { path: path.to_owned() });
    }
    Ok(Some(file))
}

fn read(path: &Path, file: fs::File) -> Result<Zeroizing<String>, KeyRingError> {
    let mut text = Zeroizing::new(String::with_capacity(1024));
    file.take(FILE_LIMIT).read_to_string(&mut text).map_err(|source| disk(path, source))?;
    Ok(text)
}

/// There whole or not at all, also after a crash.
pub(super) fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), KeyRingError> {
    files::write(path, bytes, mode, files::Durability::Synced).map_err(|source| disk(path, source))
}

fn disk(path: &Path, source: io::Error) -> KeyRingError {
    KeyRingError::Disk { path: path.to_owned(), source }
}
