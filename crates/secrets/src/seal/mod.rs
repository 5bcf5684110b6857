//! Seals bytes, so that a copy of the disk tells nothing.
//!
//! Each thing is sealed with a key of its own, the *data key*, and that key is sealed with the *master key*. Turning the master
//! key over therefore re-seals small keys, not the things themselves.
//!
//! ```text
//!  master key ──seals──▶ data key ──seals──▶ bytes, bound to a context
//! ```
//!
//! **Invariants:** what was sealed for one context does not open for another. Bytes that were changed do not open. A key that
//! something on the disk still needs is not thrown away before it is needed no more.

mod envelope;
mod file;
mod key;

use std::{fmt, sync::RwLock};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use self::envelope::{Envelope, NONCE};
pub use self::{
    file::{KeyFile, KeyFileError},
    key::{KeyError, Keys, MasterKey},
};
use crate::randomness::{NoRandomness, Randomness};

/// The most bytes that are sealed at once.
pub const SEAL_LIMIT: usize = 4 * 1024 * 1024;

const WRAP: &[u8] = b"lamplighter data key 1";
const CONTENT: &[u8] = b"lamplighter content 1\0";

/// Seals and opens with the keys that it was given.
pub struct Sealer {
    keys: RwLock<Keys>,
    randomness: Box<dyn Randomness>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("it is not something that Lamplighter sealed, or it was cut")]
    Malformed,
    #[error(
        "it was sealed with the master key `{0}`, which is not among the keys that this server was given"
    )]
    OtherKey(String),
    #[error("it does not open: it was changed, or sealed for something else")]
    Changed,
    #[error("{length} bytes are too many to seal; the limit is {SEAL_LIMIT}")]
    TooLong { length: usize },
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error("the cipher refused to work")]
    Cipher,
}

/// What came of sealing a data key with the current master key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewrapped {
    /// It has the current key already.
    AsItWas,
    Anew(Vec<u8>),
}

impl Sealer {
    pub fn new(keys: Keys, randomness: impl Randomness) -> Self {
        Self { keys: RwLock::new(keys), randomness: Box::new(randomness) }
    }

    /// Seals `plain` for `context`, which has to be said again to open it.
    pub fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        if plain.len() > SEAL_LIMIT {
            return Err(SealError::TooLong { length: plain.len() });
        }
        let mut data_key = Zeroizing::new([0; 32]);
        self.randomness.fill(data_key.as_mut())?;
        let nonce = self.nonce()?;
        let bytes = encrypt(&data_key, nonce, &bound_to(context), plain)?;
        let (master, wrap_nonce, wrapped) = self.wrap(&data_key)?;
        Ok(Envelope { master, wrap_nonce, wrapped, nonce, content: bytes }.to_bytes())
    }

    pub fn open(&self, context: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let envelope = Envelope::parse(sealed)?;
        let data_key = self.unwrap(&envelope)?;
        decrypt(&data_key, envelope.nonce, &bound_to(context), &envelope.content)
    }

    /// The same content, with its data key sealed by the current master key.
    pub fn rewrap(&self, sealed: &[u8]) -> Result<Rewrapped, SealError> {
        let envelope = Envelope::parse(sealed)?;
        let data_key = self.unwrap(&envelope)?;
        if envelope.master == self.keys().current().id() {
            return Ok(Rewrapped::AsItWas);
        }
        let (master, wrap_nonce, wrapped) = self.wrap(&data_key)?;
        Ok(Rewrapped::Anew(Envelope { master, wrap_nonce, wrapped, ..envelope }.to_bytes()))
    }

    /// From now on `keys` are used.
    pub fn use_keys(&self, keys: Keys) {
        *self.keys.write().unwrap_or_else(std::sync::PoisonError::into_inner) = keys;
    }

    /// Unguessable bytes, from the source that this one was given.
    pub fn randomness(&self) -> &dyn Randomness {
        self.randomness.as_ref()
    }

    fn keys(&self) -> std::sync::RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn nonce(&self) -> Result<[u8; NONCE], NoRandomness> {
        let mut nonce = [0; NONCE];
        self.randomness.fill(&mut nonce)?;
        Ok(nonce)
    }

    fn wrap(&self, data_key: &[u8; 32]) -> Result<(key::KeyId, [u8; NONCE], Vec<u8>), SealError> {
        let nonce = self.nonce()?;
        let keys = self.keys();
        let master = keys.current();
        let wrapped = encrypt(master.bytes(), nonce, WRAP, data_key)?;
        Ok((master.id(), nonce, wrapped))
    }

    fn unwrap(&self, envelope: &Envelope) -> Result<Zeroizing<[u8; 32]>, SealError> {
        let keys = self.keys();
        let Some(master) = keys.find(envelope.master) else {
            return Err(SealError::OtherKey(envelope.master.to_string()));
        };
        let opened = decrypt(master.bytes(), envelope.wrap_nonce, WRAP, &envelope.wrapped)?;
        let mut data_key = Zeroizing::new([0; 32]);
        if opened.len() != data_key.len() {
            return Err(SealError::Malformed);
        }
        data_key.copy_from_slice(&opened);
        Ok(data_key)
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

fn bound_to(context: &str) -> Vec<u8> {
    [CONTENT, context.as_bytes()].concat()
}

fn cipher(key: &[u8; 32]) -> Result<LessSafeKey, SealError> {
    UnboundKey::new(&AES_256_GCM, key).map(LessSafeKey::new).map_err(|_| SealError::Cipher)
}

fn encrypt(
    key: &[u8; 32],
    nonce: [u8; NONCE],
    bound: &[u8],
    plain: &[u8],
) -> Result<Vec<u8>, SealError> {
    // One allocation, so that growing leaves no copy of what is secret behind.
    let mut bytes = Vec::with_capacity(plain.len() + AES_256_GCM.tag_len());
    bytes.extend_from_slice(plain);
    let nonce = Nonce::assume_unique_for_key(nonce);
    cipher(key)?
        .seal_in_place_append_tag(nonce, Aad::from(bound), &mut bytes)
        .map_err(|_| SealError::Cipher)?;
    Ok(bytes)
}

fn decrypt(
    key: &[u8; 32],
    nonce: [u8; NONCE],
    bound: &[u8],
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, SealError> {
    let mut bytes = Zeroizing::new(sealed.to_vec());
    let nonce = Nonce::assume_unique_for_key(nonce);
    let length = cipher(key)?
        .open_in_place(nonce, Aad::from(bound), &mut bytes)
        .map_err(|_| SealError::Changed)?
        .len();
    bytes.truncate(length);
    Ok(bytes)
}

#[cfg(test)]
mod tests;
