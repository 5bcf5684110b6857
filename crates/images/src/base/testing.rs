//! What the tests of bases share: who they are, and archives as an attacker would write them.
#![allow(clippy::unwrap_used, reason = "only tests use it")]

use tar::{Builder, EntryType, Header};

use super::{
    Owner,
    unpack::{Limits, Rules, Whiteouts},
};

/// Ids are shifted where the tests run as root, as they are in the product.
pub(crate) fn owner() -> Owner {
    let is_root = rustix::process::geteuid().is_root();
    Owner { base: is_root.then_some(0x7000_0000) }
}

/// The id on the disk for one inside.
pub(crate) fn stored(id: u32) -> u32 {
    owner().base.map_or_else(|| rustix::process::geteuid().as_raw(), |base| base + id)
}

pub(crate) fn rules(whiteouts: Whiteouts) -> Rules {
    Rules { owner: owner(), whiteouts, limits: Limits::default() }
}

/// An archive, entry by entry, with names that a well-meaning writer would refuse.
pub(crate) struct Tar(Builder<Vec<u8>>);

impl Tar {
    pub(crate) fn new() -> Self {
        Self(Builder::new(Vec::new()))
    }

    pub(crate) fn header(kind: EntryType, name: &[u8]) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(if kind == EntryType::Directory { 0o755 } else { 0o644 });
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        header.set_mtime(1_000_000_000);
        let field = &mut header.as_old_mut().name;
        let length = name.len().min(field.len());
        field[..length].copy_from_slice(&name[..length]);
        header
    }

    pub(crate) fn push(mut self, mut header: Header, content: &[u8]) -> Self {
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    pub(crate) fn directory(self, name: &str) -> Self {
        self.push(Self::header(EntryType::Directory, name.as_bytes()), b"")
    }

    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        self.push(Self::header(EntryType::Regular, name.as_bytes()), content.as_bytes())
    }

    pub(crate) fn link(self, kind: EntryType, name: &str, target: &str) -> Self {
        let mut header = Self::header(kind, name.as_bytes());
        let field = &mut header.as_old_mut().linkname;
        field[..target.len()].copy_from_slice(target.as_bytes());
        self.push(header, b"")
    }

    pub(crate) fn symlink(self, name: &str, target: &str) -> Self {
        self.link(EntryType::Symlink, name, target)
    }

    pub(crate) fn extensions(mut self, extensions: &[(&str, &[u8])]) -> Self {
        self.0.append_pax_extensions(extensions.iter().copied()).unwrap();
        self
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}
