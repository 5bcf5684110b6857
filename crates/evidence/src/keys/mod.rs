//! Keys that sign receipts, and those that check them.
//!
//! A signing key is 32 random bytes that the caller brings. Its public half is known by its [`KeyId`]: the SHA-256 of its usual encoding
//! (`SubjectPublicKeyInfo`), so that `openssl` and we call it the same. Both are kept as PEM files ([`ring`]).
//!
//! **Invariant:** a signing key is never printed, and its bytes are wiped when it is dropped.

mod pem;
pub mod ring;
mod seal;

use std::{collections::BTreeMap, fmt, str::FromStr};

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use domain::digest::{Digest, DigestError};
use zeroize::Zeroizing;

pub use seal::SealKey;

/// Signs receipts.
pub struct SigningKey {
    seed: Zeroizing<[u8; 32]>,
    pair: Ed25519KeyPair,
    public: PublicKey,
}

/// Checks what its other half signed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

/// The name of a public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Digest);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("it is not a signing key in the form that `openssl genpkey -algorithm ed25519` writes")]
    NotASigningKey,
    #[error("it is not an Ed25519 public key in the form that `openssl pkey -pubout` writes")]
    NotAPublicKey,
    #[error("32 equal bytes are not a key: bring random ones")]
    NotRandom,
    #[error("it is not 64 hexadecimal digits in lower case")]
    NotASealKey,
}

impl SigningKey {
    /// `seed` is from a source that nobody can guess.
    pub fn from_seed(seed: Zeroizing<[u8; 32]>) -> Result<Self, KeyError> {
        // What an array holds that nobody has filled.
        if seed.iter().all(|byte| Some(byte) == seed.first()) {
            return Err(KeyError::NotRandom);
        }
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref())
            .map_err(|_| KeyError::NotASigningKey)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| KeyError::NotASigningKey)?;
        Ok(Self { seed, pair, public: PublicKey(public) })
    }

    pub const fn public(&self) -> PublicKey {
        self.public
    }

    /// The same key and the same bytes always give the same signature.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.pair.sign(bytes).as_ref().to_vec()
    }

    pub(super) fn to_pem(&self) -> Zeroizing<String> {
        pem::write_private(&self.seed)
    }

    pub(super) fn from_pem(text: &str) -> Result<Self, KeyError> {
        Self::from_seed(pem::read_private(text).ok_or(KeyError::NotASigningKey)?)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public.id().short())
    }
}

impl PublicKey {
    pub fn id(&self) -> KeyId {
        KeyId(Digest::of(&pem::public_der(&self.0)))
    }

    pub fn to_pem(&self) -> String {
        pem::write_public(&self.0)
    }

    pub(crate) fn signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(bytes, signature).is_ok()
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    /// Reads exactly what [`PublicKey::to_pem`] writes; a missing line break at the end is forgiven.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        pem::read_public(text).map(Self).ok_or(KeyError::NotAPublicKey)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id().short())
    }
}

impl KeyId {
    /// The first twelve digits: enough for a person to compare.
    pub fn short(&self) -> String {
        self.0.short()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyId {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

/// Public keys that somebody decided to believe. Where they come from is the whole of a receipt's worth.
#[derive(Debug, Clone, Default)]
pub struct TrustedKeys(BTreeMap<KeyId, PublicKey>);

impl TrustedKeys {
    pub fn find(&self, id: &KeyId) -> Option<&PublicKey> {
        self.0.get(id)
    }

    pub fn ids(&self) -> impl Iterator<Item = &KeyId> {
        self.0.keys()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<PublicKey> for TrustedKeys {
    fn from_iter<I: IntoIterator<Item = PublicKey>>(keys: I) -> Self {
        Self(keys.into_iter().map(|key| (key.id(), key)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(first: u8) -> SigningKey {
        let mut seed = Zeroizing::new([7; 32]);
        seed[0] = first;
        SigningKey::from_seed(seed).unwrap()
    }

    /// The first test vector of RFC 8032, so that our keys are everybody's keys.
    #[test]
    fn our_keys_are_those_of_the_standard() {
        let bytes = |hex: &str| *hex.parse::<Digest>().unwrap().as_bytes();
        let seed = bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let key = SigningKey::from_seed(Zeroizing::new(seed)).unwrap();
        let public = bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        assert_eq!(key.public(), PublicKey(public));
        assert_eq!(key.sign(b"")[..4], [0xe5, 0x56, 0x43, 0x00]);
    }

    #[test]
    fn a_key_survives_its_file() {
        let key = key(1);
        let again = SigningKey::from_pem(&key.to_pem()).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(key.public().to_pem().parse(), Ok(key.public()));
        assert_eq!(key.public().to_pem().trim_end().parse(), Ok(key.public()));
    }

    #[test]
    fn a_key_is_not_printed() {
        let key = key(1);
        assert_eq!(format!("{key:?}"), format!("SigningKey({})", key.public().id().short()));
    }

    #[test]
    fn what_nobody_filled_is_not_a_key() {
        let refused = SigningKey::from_seed(Zeroizing::new([0; 32])).unwrap_err();
        assert_eq!(refused, KeyError::NotRandom);
    }

    #[test]
    fn only_its_own_signature_counts() {
        let (one, other) = (key(1), key(2));
        let signature = one.sign(b"lamp");
        assert!(one.public().signed(b"lamp", &signature));
        assert!(!one.public().signed(b"lamq", &signature));
        assert!(!other.public().signed(b"lamp", &signature));
        assert!(!one.public().signed(b"lamp", &signature[..63]));
        for bit in 0..512 {
            let mut changed = signature.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!one.public().signed(b"lamp", &changed), "bit {bit}");
        }
    }

    #[test]
    fn other_files_are_not_keys() {
        let pem = key(1).public().to_pem();
        let private = key(1).to_pem();
        assert!(private.parse::<PublicKey>().is_err());
        assert!(SigningKey::from_pem(&pem).is_err());
        for wrong in [
            String::new(),
            pem.replace("PUBLIC", "SECRET"),
            pem.replace("MCow", "MCox"),
            format!("{pem}\n"),
            format!(" {pem}"),
            pem.replace('\n', "\r\n"),
            pem.repeat(2),
        ] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
    }
}
