//! The name of bytes: `sha256:` and 64 hexadecimal digits.
//!
//! Other algorithms are refused: every blob is checked, and this is what we check with.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: write `sha256:` and 64 hexadecimal digits in lower case")]
pub struct DigestError(pub String);

const PREFIX: &str = "sha256:";

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(Sha256::new_with_prefix(bytes))
    }

    pub(crate) fn from_hash(hash: Sha256) -> Self {
        Self(format!("{PREFIX}{:x}", hash.finalize()))
    }

    /// With the algorithm in front.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Only the digits: a plain file name.
    pub fn hex(&self) -> &str {
        self.0.trim_start_matches(PREFIX)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix(PREFIX).unwrap_or_default();
        let is_hex = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && hex.len() == 64 {
            return Ok(Self(text.to_owned()));
        }
        Err(DigestError(text.chars().take(100).flat_map(char::escape_debug).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_a_plain_file_name() {
        let digest = Digest::of(b"x");
        assert_eq!(digest.as_str().parse(), Ok(digest.clone()));
        assert_eq!(digest.hex().len(), 64);
        for wrong in
            ["", "sha256:", "sha256:../../etc", "sha512:00", &digest.as_str().to_uppercase()]
        {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
