//! An image in a directory: `index.json`, and blobs that are named by their digests.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use super::{
    BaseError, Digest, OciImage, Part, Place, choose,
    document::{Descriptor, Document, LARGEST},
};
use crate::base::ground::{Ground, Inside};

#[derive(Debug)]
pub(super) struct Layout {
    path: PathBuf,
}

pub(super) fn find(path: &Path, name: Option<&str>) -> Result<OciImage, BaseError> {
    let layout = Layout { path: path.to_owned() };
    let index = match Document::read(&layout.bytes("index.json", LARGEST)?)? {
        Document::Index(index) => Document::Index(choose::by_name(index, name)?),
        Document::Manifest(_) => return Err(BaseError::refused("`index.json` is not an index")),
    };
    let manifest = choose::manifest(index, |descriptor| layout.document(descriptor))?;
    let config = layout.document(&manifest.config)?;
    choose::image(&manifest, &config, Place::Layout(layout))
}

impl Layout {
    fn document(&self, descriptor: &Descriptor) -> Result<Vec<u8>, BaseError> {
        let digest = descriptor.digest()?;
        let bytes = self.bytes(&blob_path(&digest), descriptor.size.min(LARGEST))?;
        checked(bytes, &digest)
    }

    pub(super) fn blob(&self, digest: &Digest, size: u64) -> Result<Part, BaseError> {
        let (file, length) = self.open(&blob_path(digest))?;
        if length != size {
            return Err(BaseError::refused(format!(
                "the blob {digest} has {length} bytes, and should have {size}"
            )));
        }
        Ok(Part { file, offset: 0, length })
    }

    fn bytes(&self, name: &str, most: u64) -> Result<Vec<u8>, BaseError> {
        let (file, length) = self.open(name)?;
        if length > most {
            return Err(BaseError::refused(format!("`{name}` is larger than {most} bytes")));
        }
        let mut bytes = Vec::new();
        let read = file.take(most).read_to_end(&mut bytes);
        read.map_err(BaseError::host("read", &self.path.join(name)))?;
        Ok(bytes)
    }

    /// Links are not followed: a layout has none, and a stranger's could lead anywhere.
    fn open(&self, name: &str) -> Result<(std::fs::File, u64), BaseError> {
        let missing = |reason: &dyn std::fmt::Display| {
            let place = self.path.join(name);
            BaseError::refused(format!("there is no usable file `{}`: {reason}", place.display()))
        };
        let path = Inside::parse(name.as_bytes()).map_err(|refused| missing(&refused))?;
        let file = Ground::open(&self.path)
            .and_then(|ground| ground.read(&path))
            .map_err(|error| missing(&error))?;
        let length = file.metadata().map_err(|error| missing(&error))?.len();
        Ok((file, length))
    }
}

pub(super) fn blob_path(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

/// The bytes, if they are what their name says.
pub(super) fn checked(bytes: Vec<u8>, digest: &Digest) -> Result<Vec<u8>, BaseError> {
    let found = Digest::of(&bytes);
    if found == *digest {
        return Ok(bytes);
    }
    Err(BaseError::refused(format!("the blob {digest} is not what its name says: it is {found}")))
}
