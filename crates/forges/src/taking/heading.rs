//! Reads the beginning of what comes out of a sandbox: a line that names a tree, and the first bytes of a pack.
//!
//! ```text
//!  lamp-change 1 <hash of a tree>\n
//!  PACK <version, 4 bytes> <number of objects, 4 bytes> ...
//! ```
//!
//! Bytes come in any pieces. Until the beginning is read, nothing is passed on; after it, everything is.

use super::script::HEADING;
use crate::inspection::ObjectName;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadingError {
    #[error("what came out of the sandbox does not begin as it should")]
    Unknown,
    #[error("what came out of the sandbox ended too early")]
    Early,
    #[error("{objects} objects came out of the sandbox, and at most {limit} are allowed")]
    ManyObjects { objects: u32, limit: u32 },
}

/// What was read of the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub tree: ObjectName,
    pub objects: u32,
}

const PACK_HEADING: usize = 12;
const LONGEST_LINE: usize = HEADING.len() + 64 + 1;

/// Collects the beginning.
#[derive(Debug)]
pub struct HeadingReader {
    held: Vec<u8>,
    limit: u32,
}

impl HeadingReader {
    /// With at most `limit` objects.
    pub const fn new(limit: u32) -> Self {
        Self { held: Vec::new(), limit }
    }

    /// Takes a piece. Once the beginning is whole, gives it with the bytes of the pack so far.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Option<(Heading, Vec<u8>)>, HeadingError> {
        self.held.extend_from_slice(piece);
        let Some(end) = self.held.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n') else {
            let is_long = self.held.len() >= LONGEST_LINE;
            return if is_long || !self.begins_well() {
                Err(HeadingError::Unknown)
            } else {
                Ok(None)
            };
        };
        let pack = self.held.split_off(end + 1);
        let line = std::mem::replace(&mut self.held, pack);
        let tree = line
            .strip_prefix(HEADING.as_bytes())
            .and_then(|rest| str::from_utf8(rest.strip_suffix(b"\n")?).ok()?.parse().ok())
            .ok_or(HeadingError::Unknown)?;
        let Some(start) = self.held.first_chunk::<PACK_HEADING>() else {
            // Put back, until there is enough.
            self.held.splice(0..0, line);
            return Ok(None);
        };
        let [b'P', b'A', b'C', b'K', 0, 0, 0, 2, a, b, c, d] = *start else {
            return Err(HeadingError::Unknown);
        };
        let objects = u32::from_be_bytes([a, b, c, d]);
        if objects > self.limit {
            return Err(HeadingError::ManyObjects { objects, limit: self.limit });
        }
        Ok(Some((Heading { tree, objects }, std::mem::take(&mut self.held))))
    }

    fn begins_well(&self) -> bool {
        let length = self.held.len().min(HEADING.len());
        self.held.get(..length) == HEADING.as_bytes().get(..length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole() -> Vec<u8> {
        let mut bytes = format!("{HEADING}{}\n", "a".repeat(40)).into_bytes();
        bytes.extend(b"PACK\0\0\0\x02\0\0\0\x03rest");
        bytes
    }

    fn read(bytes: &[u8], cut: usize) -> Result<Option<(Heading, Vec<u8>)>, HeadingError> {
        let mut reader = HeadingReader::new(10);
        let mut pieces = bytes.chunks(cut);
        for piece in pieces.by_ref() {
            if let Some((heading, mut pack)) = reader.feed(piece)? {
                pack.extend(pieces.flatten());
                return Ok(Some((heading, pack)));
            }
        }
        Ok(None)
    }

    #[test]
    fn a_beginning_is_read_however_it_comes() {
        for cut in 1..whole().len() {
            let (heading, pack) = read(&whole(), cut).unwrap().unwrap();
            assert_eq!((heading.tree.as_str(), heading.objects), ("a".repeat(40).as_str(), 3));
            assert_eq!(pack, b"PACK\0\0\0\x02\0\0\0\x03rest");
        }
    }

    #[test]
    fn other_beginnings_are_refused_at_once() {
        for wrong in [
            &b"x"[..],
            b"lamp-change 2 ",
            b"lamp-change 1 HEAD\n",
            b"lamp-change 1 \n",
            &[b'l'; 5_000],
        ] {
            assert_eq!(read(wrong, 7), Err(HeadingError::Unknown), "{wrong:?}");
        }
        let mut many = whole();
        many[HEADING.len() + 41 + 8] = 1;
        assert!(matches!(read(&many, 9), Err(HeadingError::ManyObjects { .. })));
        let mut older = whole();
        older[HEADING.len() + 41 + 7] = 3;
        assert_eq!(read(&older, 9), Err(HeadingError::Unknown));
        assert_eq!(read(&whole()[..60], 9), Ok(None));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_bytes_arrive(bytes: Vec<u8>, cut in 1_usize..9) {
            let mut begun = HEADING.as_bytes().to_vec();
            begun.extend(&bytes);
            for bytes in [&bytes, &begun] {
                prop_assert_eq!(read(bytes, cut), read(bytes, bytes.len().max(1)));
            }
        }
    }
}
