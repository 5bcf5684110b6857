//! The key that seals what comes through a server's own doors, where it is then kept beside what anybody may write.
//!
//! A seal says to the same server, and to nobody else, that it wrote these bytes itself. So one secret key is enough (HMAC-SHA-256), and it is
//! never given away. It has a file of its own in the directory of keys: whoever takes the key that signs receipts away, or turns it over, changes
//! nothing about what was said.

use std::{fmt, path::Path};

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign, verify};
use domain::digest::Digest;
use zeroize::Zeroizing;

use super::{
    KeyError,
    ring::{KeyRingError, read_secret, write},
};

const FILE: &str = "records.key";

/// Seals bytes, and knows its own seals again.
#[derive(Clone)]
pub struct SealKey(Key);

impl SealKey {
    /// Reads the key in `directory`, or makes one of `seed`, if there is none. `directory` is there, and only its owner writes in it.
    ///
    /// One that was lost is made anew: what the lost one sealed is believed no more, and nothing else is the worse for it.
    pub fn open(directory: &Path, seed: &Zeroizing<[u8; 32]>) -> Result<Self, KeyRingError> {
        let path = directory.join(FILE);
        if let Some(text) = read_secret(&path)? {
            let malformed =
                |_| KeyRingError::Malformed { path: path.clone(), reason: KeyError::NotASealKey };
            let kept: Digest = text.trim_end().parse().map_err(malformed)?;
            return Ok(Self::from_bytes(kept.as_bytes()));
        }
        if seed.iter().all(|byte| Some(byte) == seed.first()) {
            return Err(KeyRingError::Seed(KeyError::NotRandom));
        }
        let text = Zeroizing::new(format!("{}\n", Digest::from_bytes(**seed)));
        write(&path, text.as_bytes(), 0o600)?;
        Ok(Self::from_bytes(seed))
    }

    fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(Key::new(HMAC_SHA256, bytes))
    }

    /// The same bytes always have the same seal.
    pub fn seal(&self, bytes: &[u8]) -> Digest {
        let tag = sign(&self.0, bytes);
        // A tag of HMAC-SHA-256 has 32 bytes; another one would be nobody's seal.
        tag.as_ref().try_into().map_or_else(|_| Digest::of(b""), Digest::from_bytes)
    }

    /// Takes as long for a wrong seal as for a right one.
    pub fn has_sealed(&self, bytes: &[u8], seal: Digest) -> bool {
        verify(&self.0, bytes, seal.as_bytes()).is_ok()
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn seed(first: u8) -> Zeroizing<[u8; 32]> {
        let mut seed = Zeroizing::new([7; 32]);
        seed[0] = first;
        seed
    }

    #[test]
    fn a_seal_is_known_again_by_its_own_key_and_by_no_other() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = SealKey::open(here.path(), &seed(1)).unwrap();
        let seal = key.seal(b"said");
        assert!(key.has_sealed(b"said", seal));
        assert!(!key.has_sealed(b"sald", seal));
        let again = SealKey::open(here.path(), &seed(2)).unwrap();
        assert!(again.has_sealed(b"said", seal), "it is the key that is kept there");
        let other = SealKey::open(there.path(), &seed(2)).unwrap();
        assert!(!other.has_sealed(b"said", seal));
        assert_ne!(other.seal(b"said"), seal);
    }

    #[test]
    fn it_is_hmac_with_sha_256_as_everybody_computes_it() {
        // The second test case of RFC 4231 has a shorter key, which is filled up with zeros.
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(b"Jefe");
        let seal = SealKey::from_bytes(&bytes).seal(b"what do ya want for nothing?");
        assert_eq!(
            seal.to_string(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_key_that_others_may_read_or_that_is_none_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        SealKey::open(directory.path(), &seed(1)).unwrap();
        let path = directory.path().join(FILE);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let refused = SealKey::open(directory.path(), &seed(1)).unwrap_err();
        assert!(matches!(refused, KeyRingError::Exposed { .. }), "{refused}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "nothing").unwrap();
        let refused = SealKey::open(directory.path(), &seed(1)).unwrap_err();
        assert!(matches!(refused, KeyRingError::Malformed { .. }), "{refused}");
        std::fs::remove_file(&path).unwrap();
        let equal = SealKey::open(directory.path(), &Zeroizing::new([9; 32])).unwrap_err();
        assert!(matches!(equal, KeyRingError::Seed(_)), "{equal}");
    }
}
