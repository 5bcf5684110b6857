//! SHA-256 over a canonical encoding: the same thing always has the same hash.
//!
//! Every field is written with its length before it, so that no two different values share an
//! encoding (`["ab", "c"]` is not `["a", "bc"]`). The first field names the kind and its version.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a SHA-256 hash: it should be 64 hexadecimal digits in lower case")]
pub struct DigestError(pub String);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve digits: enough for a person to compare.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let wrong = || DigestError(text.to_owned());
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            0..=b'/' | b':'..=b'`' | b'g'..=u8::MAX => None,
        };
        let bytes: Option<Vec<u8>> = text
            .as_bytes()
            .chunks(2)
            .map(|pair| match pair {
                [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
                [] | [_] | [_, _, _, ..] => None,
            })
            .collect();
        Ok(Self(bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(wrong)?))
    }
}

/// Hashes one value, field by field.
#[derive(Debug, Clone)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    #[must_use]
    pub fn of_kind(kind: &str) -> Self {
        Self(Sha256::new()).text(kind)
    }

    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
        self
    }

    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.0.update(number.to_be_bytes());
        self
    }

    #[must_use]
    pub fn list<T>(self, items: &[T], each: impl Fn(Self, &T) -> Self) -> Self {
        items.iter().fold(self.number(items.len() as u64), each)
    }

    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_printing() {
        let digest = Digest::of(b"lamp");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert!("12".parse::<Digest>().is_err());
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
    }

    #[test]
    fn neighbouring_fields_do_not_run_together() {
        let hash = |items: &[&str]| {
            Fingerprint::of_kind("test").list(items, |hash, item| hash.text(item)).finish()
        };
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
