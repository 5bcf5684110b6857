//! An image in a tar: a layout in it, or the older form that `docker save` wrote.
//!
//! Nothing is unpacked. Where each file begins is noted in one pass; a packed archive is unpacked into a nameless file
//! first, because layers are not read in the order in which they are stored.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use tar::{Archive, EntryType};

use super::{
    BaseError, Blob, Digest, OciImage, Part, Place, choose,
    document::{self, Descriptor, Document, LARGEST, Saved},
    layout::{blob_path, checked},
};
use crate::base::{
    ground::Inside,
    stream::{self, Packing},
};

/// Documents, layers, and a few notes per layer: far fewer in any real archive.
const MOST_ENTRIES: usize = 10_000;
/// Of an archive that must be unpacked first.
const LARGEST_ARCHIVE: u64 = 64 << 30;

#[derive(Debug)]
pub(super) struct SavedArchive {
    file: File,
    files: HashMap<Inside, Span>,
    links: HashMap<Inside, Inside>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    offset: u64,
    length: u64,
}

pub(super) fn find(path: &Path, name: Option<&str>, scratch: &Path) -> Result<OciImage, BaseError> {
    let file = File::open(path).map_err(BaseError::host("open", path))?;
    let archive = SavedArchive::note(plain(file, path, scratch)?)?;
    if archive.span("index.json").is_ok() {
        return archive.layout(name);
    }
    if archive.span("manifest.json").is_ok() {
        return archive.saved(name);
    }
    Err(BaseError::refused(format!(
        "`{}` is not an image: there is neither `index.json` nor `manifest.json` in it",
        path.display()
    )))
}

/// The archive itself, or a copy of it that is not packed.
fn plain(mut file: File, path: &Path, scratch: &Path) -> Result<File, BaseError> {
    let read = |error| BaseError::host("read", path)(error);
    let mut start = [0; 4];
    let count = file.read(&mut start).map_err(read)?;
    file.seek(SeekFrom::Start(0)).map_err(BaseError::host("read", path))?;
    if Packing::of(start.get(..count).unwrap_or_default()) == Packing::Plain {
        return Ok(file);
    }
    let mut copy = tempfile::tempfile_in(scratch).map_err(BaseError::host("write in", scratch))?;
    let unpacked = stream::unpacked(file).map_err(BaseError::host("read", path))?;
    let copied = io::copy(&mut unpacked.take(LARGEST_ARCHIVE + 1), &mut copy);
    if copied.map_err(BaseError::host("unpack", path))? > LARGEST_ARCHIVE {
        return Err(BaseError::refused(format!("`{}` is too large unpacked", path.display())));
    }
    Ok(copy)
}

impl SavedArchive {
    /// Notes where everything is. Only names, offsets and links are kept.
    fn note(file: File) -> Result<Self, BaseError> {
        let broken = |error: io::Error| {
            BaseError::refused(format!("the archive cannot be read: {}", BaseError::shown(error)))
        };
        let refused = |reason: &str| BaseError::refused(format!("the archive {reason}"));
        let whole = file.metadata().map_err(broken)?.len();
        let (mut files, mut links) = (HashMap::new(), HashMap::new());
        (&file).seek(SeekFrom::Start(0)).map_err(broken)?;
        let mut archive = Archive::new(&file);
        let mut count = 0;
        // Raw: longer names than a plain header holds do not occur in an image, and cost memory in a bomb.
        for entry in archive.entries_with_seek().map_err(broken)?.raw(true) {
            let entry = entry.map_err(broken)?;
            count += 1;
            if count > MOST_ENTRIES {
                return Err(refused("has too many entries"));
            }
            let Ok(name) = Inside::parse(&entry.path_bytes()) else {
                return Err(refused("has an entry whose name leads outside"));
            };
            let (offset, length) = (entry.raw_file_position(), entry.size());
            let kind = entry.header().entry_type();
            if kind.is_file() {
                if offset.checked_add(length).is_none_or(|end| end > whole) {
                    return Err(refused("is cut off"));
                }
                files.insert(name, Span { offset, length });
            } else if kind.is_symlink() || kind.is_hard_link() {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                if let Some(target) = resolved(&name, &target, kind) {
                    links.insert(name, target);
                }
            }
        }
        Ok(Self { file, files, links })
    }

    /// The newer form: a layout.
    fn layout(self, name: Option<&str>) -> Result<OciImage, BaseError> {
        let index = match Document::read(&self.bytes("index.json")?)? {
            Document::Index(index) => Document::Index(choose::by_name(index, name)?),
            Document::Manifest(_) => {
                return Err(BaseError::refused("`index.json` is not an index"));
            }
        };
        let manifest = choose::manifest(index, |descriptor| self.document(descriptor))?;
        let config = self.document(&manifest.config)?;
        choose::image(&manifest, &config, Place::Archive(self))
    }

    /// The older form: `manifest.json` names files.
    fn saved(self, name: Option<&str>) -> Result<OciImage, BaseError> {
        let bytes = self.bytes("manifest.json")?;
        let all: Vec<Saved> = document::parse(&bytes, "`manifest.json`")?;
        let names: Vec<String> =
            all.iter().flat_map(|saved| saved.repo_tags.clone().unwrap_or_default()).collect();
        let is_called = |saved: &Saved, name: &str| {
            saved.repo_tags.iter().flatten().any(|known| choose::is_called(known, name))
        };
        let saved = match (name, all.as_slice()) {
            (None, [only]) => only,
            (None, _) => return Err(choose::several(&names)),
            (Some(name), all) => all
                .iter()
                .find(|saved| is_called(saved, name))
                .ok_or_else(|| choose::missing(name, &names))?,
        };
        let config = self.bytes(&saved.config)?;
        let stem =
            Path::new(&saved.config).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let config = match format!("sha256:{stem}").parse() {
            Ok(digest) => checked(config, &digest)?,
            Err(_) => config,
        };
        let blobs = saved.layers.iter().map(|path| Blob::Entry { path: path.clone() }).collect();
        choose::described(&config, blobs, Place::Archive(self))
    }

    fn document(&self, descriptor: &Descriptor) -> Result<Vec<u8>, BaseError> {
        let digest = descriptor.digest()?;
        checked(self.bytes(&blob_path(&digest))?, &digest)
    }

    pub(super) fn blob(&self, digest: &Digest, size: u64) -> Result<Part, BaseError> {
        let part = self.entry(&blob_path(digest))?;
        if part.length != size {
            let length = part.length;
            return Err(BaseError::refused(format!(
                "the blob {digest} has {length} bytes, and should have {size}"
            )));
        }
        Ok(part)
    }

    pub(super) fn entry(&self, path: &str) -> Result<Part, BaseError> {
        let Span { offset, length } = self.span(path)?;
        let again =
            |source| BaseError::Host { doing: "cannot open the archive again".to_owned(), source };
        // Opened anew: a copy of the descriptor would share its position with every other reader.
        let place = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.file));
        Ok(Part { file: File::open(place).map_err(again)?, offset, length })
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, BaseError> {
        let Part { mut file, offset, length } = self.entry(path)?;
        if length > LARGEST {
            return Err(BaseError::refused(format!(
                "`{path}` in the archive is larger than {LARGEST} bytes"
            )));
        }
        let mut bytes = Vec::new();
        let read = file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| file.take(length).read_to_end(&mut bytes));
        read.map_err(|source| BaseError::Host {
            doing: "cannot read the archive".to_owned(),
            source,
        })?;
        Ok(bytes)
    }

    /// Where a file is, through one link at most: equal layers were saved as links.
    fn span(&self, path: &str) -> Result<Span, BaseError> {
        let find = || {
            let path = Inside::parse(path.as_bytes()).ok()?;
            self.files.get(&path).or_else(|| self.files.get(self.links.get(&path)?)).copied()
        };
        find().ok_or_else(|| {
            BaseError::refused(format!("there is no `{}` in the archive", path.escape_debug()))
        })
    }
}

/// Where a link in the archive leads, if that is in the archive.
fn resolved(name: &Inside, target: &[u8], kind: EntryType) -> Option<Inside> {
    // A symbolic link leads on from where it is, a hard link from the archive's root.
    let start = if kind.is_symlink() { name.split()?.0.as_bytes().to_vec() } else { Vec::new() };
    let mut names: Vec<&[u8]> =
        start.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                names.pop()?;
            }
            _ => names.push(part),
        }
    }
    Inside::parse(&names.join(&b'/')).ok()
}
