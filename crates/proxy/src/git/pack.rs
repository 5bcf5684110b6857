//! The commits of a pack, and which of them lead to which.
//!
//! The whole pack is walked, because only the end of one object tells where the next begins; only commits are kept. A commit that is
//! stored as the difference to another is put together when the other came before it. What cannot be read is not an error here: it
//! proves nothing, and a push that needs the proof is refused.

use std::collections::HashMap;

use aws_lc_rs::digest;
use flate2::{Decompress, FlushDecompress, Status};

use super::commands::{ObjectFormat, ObjectId};

/// The largest commit that is kept, in bytes.
pub const COMMIT_LIMIT: u64 = 1024 * 1024;

/// The most bytes of commits that are kept, each counted with what it costs to keep it.
pub const KEPT_LIMIT: usize = 64 * 1024 * 1024;

/// What a commit costs besides its content.
const COST_OF_ONE: usize = 1024;

/// The most objects of one pack.
pub const OBJECT_LIMIT: u32 = 4_000_000;

/// The most bytes that all objects may have when they are unpacked.
pub const UNPACKED_LIMIT: u64 = 4 * 1024 * 1024 * 1024;

/// The most parents of one commit that are looked at.
const PARENT_LIMIT: usize = 64;

/// The longest head of an object: its size, and the name of what it differs from.
const OBJECT_HEAD_LIMIT: usize = 48;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    #[error("what follows the updates is not a pack of version 2")]
    Header,
    #[error("the pack has more than {OBJECT_LIMIT} objects")]
    TooManyObjects,
    #[error("an object of the pack is malformed")]
    Object,
    #[error("the pack unpacks to more than {UNPACKED_LIMIT} bytes")]
    TooLarge,
    #[error("something follows the pack")]
    Trailing,
    #[error("the pack is not whole")]
    Incomplete,
}

/// A pack, as far as it has come.
#[derive(Debug)]
pub struct Pack {
    format: ObjectFormat,
    state: State,
    /// Bytes of a head that is not whole yet.
    head: Vec<u8>,
    position: u64,
    objects_left: u32,
    unpacked: u64,
    kept: usize,
    /// The contents of commits, by where they begin in the pack.
    contents: HashMap<u64, Vec<u8>>,
    places: HashMap<ObjectId, u64>,
    parents: HashMap<ObjectId, Vec<ObjectId>>,
    /// One for all objects, because making one costs more than most objects do.
    inflate: Decompress,
    scratch: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Header,
    ObjectHead { start: u64 },
    Content(Box<Content>),
    Trailer { left: usize },
    Ended,
}

#[derive(Debug)]
struct Content {
    start: u64,
    size: u64,
    unpacked: u64,
    keep: Option<Kept>,
}

/// What is kept of an object that may be a commit.
#[derive(Debug)]
struct Kept {
    bytes: Vec<u8>,
    /// Where the commit begins that this one differs from.
    base: Option<u64>,
}

enum Kind {
    Commit,
    Other,
    DifferenceFrom(u64),
    DifferenceFromNamed(ObjectId),
}

impl Pack {
    pub fn new(format: ObjectFormat) -> Self {
        Self {
            format,
            state: State::Header,
            head: Vec::new(),
            position: 0,
            objects_left: 0,
            unpacked: 0,
            kept: 0,
            contents: HashMap::new(),
            places: HashMap::new(),
            parents: HashMap::new(),
            inflate: Decompress::new(true),
            scratch: vec![0; 32 * 1024],
        }
    }

    /// Reads the next bytes.
    pub fn read(&mut self, mut bytes: &[u8]) -> Result<(), PackError> {
        while !bytes.is_empty() {
            let used = match &self.state {
                State::Header => self.header(bytes)?,
                State::ObjectHead { start } => self.object_head(*start, bytes)?,
                State::Content(_) => self.content(bytes)?,
                State::Trailer { left } => {
                    let used = bytes.len().min(*left);
                    let left = left.saturating_sub(used);
                    self.state = if left == 0 { State::Ended } else { State::Trailer { left } };
                    used
                }
                State::Ended => return Err(PackError::Trailing),
            };
            self.position += used as u64;
            bytes = bytes.get(used..).unwrap_or_default();
        }
        Ok(())
    }

    /// Whether all of it has come.
    pub fn finish(&self) -> Result<(), PackError> {
        match self.state {
            State::Ended => Ok(()),
            State::Header
            | State::ObjectHead { .. }
            | State::Content(_)
            | State::Trailer { .. } => Err(PackError::Incomplete),
        }
    }

    /// Whether the commits of this pack lead from `new` back to `old`.
    pub fn leads(&self, new: &ObjectId, old: &ObjectId) -> bool {
        let mut seen = std::collections::HashSet::new();
        let mut next = vec![new];
        while let Some(id) = next.pop() {
            if id == old {
                return true;
            }
            if seen.insert(id) {
                next.extend(self.parents.get(id).into_iter().flatten());
            }
        }
        false
    }

    /// What is kept, in the terms of [`KEPT_LIMIT`].
    pub fn kept(&self) -> usize {
        self.kept
    }

    fn header(&mut self, bytes: &[u8]) -> Result<usize, PackError> {
        let used = bytes.len().min(12 - self.head.len());
        self.head.extend_from_slice(bytes.get(..used).unwrap_or_default());
        if !b"PACK\0\0\0\x02"
            .starts_with(self.head.get(..8.min(self.head.len())).unwrap_or_default())
        {
            return Err(PackError::Header);
        }
        if let [.., a, b, c, d] = self.head.as_slice()
            && self.head.len() == 12
        {
            self.objects_left = u32::from_be_bytes([*a, *b, *c, *d]);
            if self.objects_left > OBJECT_LIMIT {
                return Err(PackError::TooManyObjects);
            }
            self.begin_object(12);
        }
        Ok(used)
    }

    fn begin_object(&mut self, start: u64) {
        self.head.clear();
        self.state = match self.objects_left {
            0 => State::Trailer { left: self.format.bytes() },
            _ => State::ObjectHead { start },
        };
    }

    fn object_head(&mut self, start: u64, bytes: &[u8]) -> Result<usize, PackError> {
        let before = self.head.len();
        let most = bytes.len().min(OBJECT_HEAD_LIMIT.saturating_sub(before));
        self.head.extend_from_slice(bytes.get(..most).unwrap_or_default());
        let Some((kind, size, used)) = read_head(&self.head, start, self.format)? else {
            return if self.head.len() >= OBJECT_HEAD_LIMIT {
                Err(PackError::Object)
            } else {
                Ok(most)
            };
        };
        self.unpacked = self.unpacked.saturating_add(size);
        if self.unpacked > UNPACKED_LIMIT {
            return Err(PackError::TooLarge);
        }
        let keep = self.keep(&kind, size);
        self.inflate.reset(true);
        self.state = State::Content(Box::new(Content { start, size, unpacked: 0, keep }));
        Ok(used.saturating_sub(before))
    }

    fn keep(&self, kind: &Kind, size: u64) -> Option<Kept> {
        let base = match kind {
            Kind::Commit => None,
            Kind::Other => return None,
            Kind::DifferenceFrom(place) => {
                Some(*place).filter(|place| self.contents.contains_key(place))
            }
            Kind::DifferenceFromNamed(id) => self.places.get(id).copied(),
        };
        let may_be_commit = matches!(kind, Kind::Commit) || base.is_some();
        let fits = size <= COMMIT_LIMIT && self.kept < KEPT_LIMIT;
        (may_be_commit && fits).then(|| Kept { bytes: Vec::new(), base })
    }

    fn content(&mut self, bytes: &[u8]) -> Result<usize, PackError> {
        let State::Content(content) = &mut self.state else {
            return Err(PackError::Object);
        };
        let (read, wrote) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(bytes, &mut self.scratch, FlushDecompress::None)
            .map_err(|_| PackError::Object)?;
        let used = usize::try_from(self.inflate.total_in() - read).unwrap_or(bytes.len());
        let count = self.inflate.total_out() - wrote;
        content.unpacked += count;
        if content.unpacked > content.size {
            return Err(PackError::Object);
        }
        if let Some(kept) = &mut content.keep {
            let count = usize::try_from(count).unwrap_or(0);
            kept.bytes.extend_from_slice(self.scratch.get(..count).unwrap_or_default());
        }
        match status {
            Status::StreamEnd if content.unpacked != content.size => return Err(PackError::Object),
            Status::StreamEnd => self.end_object(used),
            // Neither read nor wrote: there is nothing that could change that.
            Status::Ok | Status::BufError if used == 0 && count == 0 => {
                return Err(PackError::Object);
            }
            Status::Ok | Status::BufError => {}
        }
        Ok(used)
    }

    fn end_object(&mut self, used: usize) {
        let next = self.position + used as u64;
        self.objects_left = self.objects_left.saturating_sub(1);
        let ended = std::mem::replace(&mut self.state, State::Ended);
        self.begin_object(next);
        if let State::Content(content) = ended
            && let Some(kept) = content.keep
        {
            self.remember(content.start, kept);
        }
    }

    fn remember(&mut self, start: u64, kept: Kept) {
        let content = match kept.base {
            None => Some(kept.bytes),
            Some(base) => self.contents.get(&base).and_then(|base| apply(base, &kept.bytes)),
        };
        let Some(content) = content else {
            return;
        };
        let id = name(self.format, &content);
        self.kept += content.len() + COST_OF_ONE;
        self.parents.insert(id.clone(), read_parents(&content, self.format));
        self.places.insert(id, start);
        self.contents.insert(start, content);
    }
}

/// The head of one object: what it is, how large, and how many bytes the head has.
fn read_head(
    head: &[u8],
    start: u64,
    format: ObjectFormat,
) -> Result<Option<(Kind, u64, usize)>, PackError> {
    let Some(first) = head.first().copied() else {
        return Ok(None);
    };
    let mut size = u64::from(first & 0x0f);
    let mut used = 1;
    let mut more = first & 0x80 != 0;
    let mut shift = 4;
    while more {
        let Some(byte) = head.get(used).copied() else {
            return Ok(None);
        };
        if shift > 53 {
            return Err(PackError::Object);
        }
        size |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        used += 1;
        more = byte & 0x80 != 0;
    }
    let kind = match (first >> 4) & 7 {
        1 => Kind::Commit,
        2..=4 => Kind::Other,
        6 => {
            let Some((back, length)) = read_offset(head.get(used..).unwrap_or_default())? else {
                return Ok(None);
            };
            used += length;
            Kind::DifferenceFrom(start.checked_sub(back).ok_or(PackError::Object)?)
        }
        7 => {
            let Some(id) = head.get(used..used + format.bytes()) else {
                return Ok(None);
            };
            used += format.bytes();
            Kind::DifferenceFromNamed(ObjectId::of_bytes(id))
        }
        _ => return Err(PackError::Object),
    };
    Ok(Some((kind, size, used)))
}

/// How far back the other object begins, in the spelling that packs have for it.
fn read_offset(bytes: &[u8]) -> Result<Option<(u64, usize)>, PackError> {
    let mut back: u64 = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if at > 7 {
            return Err(PackError::Object);
        }
        if at > 0 {
            back += 1;
        }
        back = (back << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok(Some((back, at + 1)));
        }
    }
    Ok(None)
}

/// The name of a commit with this content.
fn name(format: ObjectFormat, content: &[u8]) -> ObjectId {
    let algorithm = match format {
        ObjectFormat::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        ObjectFormat::Sha256 => &digest::SHA256,
    };
    let mut hash = digest::Context::new(algorithm);
    hash.update(format!("commit {}\0", content.len()).as_bytes());
    hash.update(content);
    ObjectId::of_bytes(hash.finish().as_ref())
}

/// The parents of a commit: the lines right behind its first, which names the tree.
fn read_parents(content: &[u8], format: ObjectFormat) -> Vec<ObjectId> {
    let mut lines = content.split(|byte| *byte == b'\n');
    if !lines.next().is_some_and(|line| line.starts_with(b"tree ")) {
        return Vec::new();
    }
    let id = |line: &[u8]| {
        let text = std::str::from_utf8(line.strip_prefix(b"parent ")?).ok()?;
        text.parse::<ObjectId>().ok().filter(|id| id.as_str().len() == 2 * format.bytes())
    };
    lines.map_while(id).take(PARENT_LIMIT).collect()
}

/// The content that a difference makes of another. Nothing, if it is not a difference to this one.
fn apply(base: &[u8], mut difference: &[u8]) -> Option<Vec<u8>> {
    let from = read_size(&mut difference)?;
    let to = read_size(&mut difference)?;
    if from != base.len() as u64 || to > COMMIT_LIMIT {
        return None;
    }
    let mut content = Vec::new();
    while let Some((order, rest)) = difference.split_first() {
        difference = rest;
        let piece = if order & 0x80 != 0 {
            let mut number = |bits: std::ops::Range<u32>| {
                let mut value = 0_usize;
                for (place, bit) in bits.enumerate() {
                    if order & (1 << bit) != 0 {
                        let (byte, rest) = difference.split_first()?;
                        difference = rest;
                        value |= usize::from(*byte) << (8 * place);
                    }
                }
                Some(value)
            };
            let at = number(0..4)?;
            let length = match number(4..7)? {
                0 => 0x10000,
                length => length,
            };
            base.get(at..at.checked_add(length)?)?
        } else {
            // Zero is no order.
            let (piece, rest) =
                difference.split_at_checked(usize::from(*order)).filter(|_| *order != 0)?;
            difference = rest;
            piece
        };
        content.extend_from_slice(piece);
        if content.len() as u64 > to {
            return None;
        }
    }
    (content.len() as u64 == to).then_some(content)
}

fn read_size(bytes: &mut &[u8]) -> Option<u64> {
    let mut size = 0;
    for shift in (0..56).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        size |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
    None
}
