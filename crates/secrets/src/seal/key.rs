//! Master keys, as an operator gives them: words of 64 hexadecimal digits, the current one first.

use std::{fmt, str::FromStr};

use aws_lc_rs::digest::{SHA256, digest};
use zeroize::Zeroizing;

use crate::randomness::{NoRandomness, Randomness};

/// Seals data keys.
#[derive(Clone)]
pub struct MasterKey {
    bytes: Zeroizing<[u8; 32]>,
}

/// Tells which key sealed something, and nothing of the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyId([u8; 8]);

/// The key that seals, and those before it, which only open.
#[derive(Debug, Clone)]
pub struct Keys {
    current: MasterKey,
    former: Vec<MasterKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error(
        "there is no master key in it; a key is 64 hexadecimal digits (`openssl rand -hex 32`)"
    )]
    Missing,
    // The word is not repeated: it may be a key with one digit too few.
    #[error(
        "word {0} is not a master key; a key is 64 hexadecimal digits (`openssl rand -hex 32`), and not all zero"
    )]
    Malformed(usize),
    #[error("word {0} is a key that was given already")]
    Twice(usize),
    #[error(
        "there are more than {MOST} master keys in it; give the current one first, and only those still needed"
    )]
    TooMany,
}

const MOST: usize = 16;

impl MasterKey {
    pub fn generate(randomness: &dyn Randomness) -> Result<Self, NoRandomness> {
        let mut bytes = Zeroizing::new([0; 32]);
        randomness.fill(bytes.as_mut())?;
        Ok(Self { bytes })
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    pub(super) fn id(&self) -> KeyId {
        let text = Zeroizing::new([b"lamplighter key id\0", &self.bytes[..]].concat());
        let hash = digest(&SHA256, &text);
        KeyId(hash.as_ref().first_chunk().copied().unwrap_or_default())
    }

    /// As a file holds it.
    pub(super) fn to_hex(&self) -> Zeroizing<String> {
        let mut hex = Zeroizing::new(String::with_capacity(64));
        for byte in self.bytes.iter() {
            for nibble in [byte >> 4, byte & 15] {
                hex.extend(char::from_digit(nibble.into(), 16));
            }
        }
        hex
    }

    fn from_hex(word: &str) -> Option<Self> {
        let digits = word.as_bytes();
        let mut bytes = Zeroizing::new([0; 32]);
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            for digit in pair {
                let nibble = char::from(*digit).to_digit(16)?;
                *byte = (*byte << 4) | u8::try_from(nibble).ok()?;
            }
        }
        (*bytes != [0; 32]).then_some(Self { bytes })
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id())
    }
}

impl KeyId {
    pub(super) const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Keys {
    pub const fn only(current: MasterKey) -> Self {
        Self { current, former: Vec::new() }
    }

    /// `current` seals from now on, and these still open.
    #[must_use]
    pub fn replaced_by(&self, current: MasterKey) -> Self {
        let former = self.all().cloned().collect();
        Self { current, former }
    }

    /// Without those that only open.
    #[must_use]
    pub fn without_former(&self) -> Self {
        Self::only(self.current.clone())
    }

    pub const fn has_former(&self) -> bool {
        !self.former.is_empty()
    }

    pub(super) const fn current(&self) -> &MasterKey {
        &self.current
    }

    pub(super) fn find(&self, id: KeyId) -> Option<&MasterKey> {
        self.all().find(|key| key.id() == id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &MasterKey> {
        std::iter::once(&self.current).chain(&self.former)
    }
}

impl FromStr for Keys {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut keys: Vec<MasterKey> = Vec::new();
        for (index, word) in text.split_ascii_whitespace().enumerate() {
            if index >= MOST {
                return Err(KeyError::TooMany);
            }
            let key = MasterKey::from_hex(word).ok_or(KeyError::Malformed(index + 1))?;
            if keys.iter().any(|earlier| earlier.bytes == key.bytes) {
                return Err(KeyError::Twice(index + 1));
            }
            keys.push(key);
        }
        let mut keys = keys.into_iter();
        let current = keys.next().ok_or(KeyError::Missing)?;
        Ok(Self { current, former: keys.collect() })
    }
}
