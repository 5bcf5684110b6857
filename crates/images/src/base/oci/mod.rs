//! OCI images: from a layout directory, from an archive that `docker save` wrote, or from a registry.
//!
//! ```text
//!  name ──▶ index ──▶ manifest for this machine ──▶ config (diff ids, settings)
//!                                               └─▶ blobs ──▶ a layer directory per diff id
//! ```
//!
//! All of it is hostile. Every document and every blob is checked against the digest by which it is named, before or
//! while it is used; a layer whose content is not what the config says is refused. Layers are named by the digest of
//! their content, unpacked, so that images share them.

mod archive;
mod choose;
mod document;
mod layout;
mod registry;
mod settings;
mod source;

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

pub use registry::{Login, Registry};
pub use settings::ImageConfig;
pub use source::Source;

use super::{
    BaseError, Digest,
    stream::{self, Hashing},
    unpack::{self, Rules, Unpacked, Whiteouts},
};

/// An image that was found, and where its layers are.
#[derive(Debug)]
pub struct OciImage {
    /// Of its config: the same content has the same name, from wherever it comes.
    pub digest: Digest,
    pub config: ImageConfig,
    /// The lowest first. Each once: of a layer that is there twice, only the upper one shows.
    pub layers: Vec<OciLayer>,
    place: Place,
}

/// A layer that can be brought in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciLayer {
    /// The digest of its content, unpacked: its name among all images.
    pub diff_id: Digest,
    blob: Blob,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Blob {
    /// By digest, with its size.
    Named { digest: Digest, size: u64 },
    /// A file in an old archive, where blobs have no digest of their own.
    Entry { path: String },
}

#[derive(Debug)]
enum Place {
    Layout(layout::Layout),
    Archive(archive::SavedArchive),
    Registry(registry::Remote),
}

/// Finds an image. `scratch` is a directory for what must be on the disk meanwhile; nothing is left there.
pub async fn find(
    source: &Source,
    registry: &Registry,
    scratch: &Path,
) -> Result<OciImage, BaseError> {
    let (source, scratch) = (source.clone(), scratch.to_owned());
    let finding = match source {
        Source::Registry(reference) => return registry::find(registry, &reference).await,
        Source::Layout { path, name } => {
            tokio::task::spawn_blocking(move || layout::find(&path, name.as_deref()))
        }
        Source::Archive { path, name } => {
            tokio::task::spawn_blocking(move || archive::find(&path, name.as_deref(), &scratch))
        }
    };
    let stopped = |error: tokio::task::JoinError| BaseError::Host {
        doing: "cannot read the image".to_owned(),
        source: error.into(),
    };
    finding.await.map_err(stopped)?
}

impl OciImage {
    /// Brings a layer's blob to this host.
    pub async fn fetch(&self, layer: &OciLayer, scratch: &Path) -> Result<LayerBlob, BaseError> {
        let part = match (&self.place, &layer.blob) {
            (Place::Layout(layout), Blob::Named { digest, size }) => layout.blob(digest, *size)?,
            (Place::Archive(archive), Blob::Named { digest, size }) => {
                archive.blob(digest, *size)?
            }
            (Place::Archive(archive), Blob::Entry { path }) => archive.entry(path)?,
            (Place::Registry(remote), Blob::Named { digest, size }) => {
                remote.blob(digest, *size, scratch).await?
            }
            (Place::Layout(_) | Place::Registry(_), Blob::Entry { path }) => {
                return Err(BaseError::refused(format!("there is no layer `{path}`")));
            }
        };
        let digest = match &layer.blob {
            Blob::Named { digest, .. } => Some(digest.clone()),
            Blob::Entry { .. } => None,
        };
        Ok(LayerBlob { part, digest, diff_id: layer.diff_id.clone() })
    }
}

/// A part of a file.
#[derive(Debug)]
struct Part {
    file: File,
    offset: u64,
    length: u64,
}

/// A layer's blob on this host, not yet unpacked.
#[derive(Debug)]
pub struct LayerBlob {
    part: Part,
    digest: Option<Digest>,
    diff_id: Digest,
}

impl LayerBlob {
    /// Unpacks it into the empty directory `into`, and checks that it is what the image says. On an error the caller
    /// removes the directory. Blocks.
    pub fn unpack(mut self, into: &Path, rules: &Rules) -> Result<Unpacked, BaseError> {
        let rules = Rules { whiteouts: Whiteouts::Translated, ..*rules };
        let read =
            |error| BaseError::Host { doing: "cannot read a layer".to_owned(), source: error };
        self.part.file.seek(SeekFrom::Start(self.part.offset)).map_err(read)?;
        let mut packed = Hashing::new((&self.part.file).take(self.part.length));
        let mut content = Hashing::new(stream::unpacked(&mut packed).map_err(read)?);
        let unpacked = unpack::unpack(&mut content, into, &rules);
        // Of a layer that was refused the rest is not unpacked: it may be a bomb.
        let found = unpacked.is_ok().then(|| content.finish().map_err(read));
        let found_packed = packed.finish().map_err(read)?;
        // Only a blob that is what it should be can be blamed for its content.
        if let Some(digest) = self.digest.filter(|digest| *digest != found_packed) {
            return Err(BaseError::refused(format!(
                "the blob {digest} is not what its name says: it is {found_packed}"
            )));
        }
        let unpacked = unpacked?;
        let diff_id = &self.diff_id;
        if let Some(found) = found.transpose()?.filter(|found| found != diff_id) {
            return Err(BaseError::refused(format!(
                "a layer is not what its image says: {diff_id} is {found}"
            )));
        }
        Ok(unpacked)
    }
}

#[cfg(test)]
#[path = "oci_tests.rs"]
mod tests;
