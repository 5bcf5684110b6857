//! How something sealed lies on the disk: `LAMP`, a version, and fields of fixed length before the content.

use super::{SealError, key::KeyId};

const MAGIC: &[u8; 5] = b"LAMP\x01";
pub(super) const NONCE: usize = 12;
/// A key of 32 bytes and a tag of 16.
const WRAPPED: usize = 48;
const TAG: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    /// Which master key sealed the data key.
    pub(super) master: KeyId,
    pub(super) wrap_nonce: [u8; NONCE],
    pub(super) wrapped: Vec<u8>,
    pub(super) nonce: [u8; NONCE],
    pub(super) content: Vec<u8>,
}

impl Envelope {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self { master, wrap_nonce, wrapped, nonce, content } = self;
        [&MAGIC[..], master.as_bytes(), wrap_nonce, wrapped, nonce, content].concat()
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, SealError> {
        let mut rest = bytes;
        if take(&mut rest)? != *MAGIC {
            return Err(SealError::Malformed);
        }
        let master = KeyId::from_bytes(take(&mut rest)?);
        let wrap_nonce = take(&mut rest)?;
        let wrapped = take::<WRAPPED>(&mut rest)?.to_vec();
        let nonce = take(&mut rest)?;
        if rest.len() < TAG {
            return Err(SealError::Malformed);
        }
        Ok(Self { master, wrap_nonce, wrapped, nonce, content: rest.to_vec() })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], SealError> {
    let (first, after) = rest.split_first_chunk::<N>().ok_or(SealError::Malformed)?;
    *rest = after;
    Ok(*first)
}
