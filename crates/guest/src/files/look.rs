//! What is there.

use std::{
    fs::{self, Metadata},
    io::{BufWriter, ErrorKind, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use guest::protocol::{Entry, Kind};

use super::{Doing, Failure, emit, output};

pub(super) fn stat(path: &str) -> Result<(), Failure> {
    let metadata = fs::symlink_metadata(path).doing(|| path.to_owned())?;
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    emit(&mut output()?, &entry(name.into_owned(), &metadata))
}

pub(super) fn list(path: &str) -> Result<(), Failure> {
    let mut output = BufWriter::new(output()?);
    for entry_there in fs::read_dir(path).doing(|| path.to_owned())? {
        let there = entry_there.doing(|| path.to_owned())?;
        let metadata = match there.metadata() {
            Ok(metadata) => metadata,
            // It vanished while we looked.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(Failure::new(there.path().to_string_lossy(), &error)),
        };
        emit(&mut output, &entry(there.file_name().to_string_lossy().into_owned(), &metadata))?;
    }
    output.flush().doing(|| path.to_owned())
}

fn entry(name: String, metadata: &Metadata) -> Entry {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_symlink() => Kind::Symlink,
        _socket_pipe_or_device => Kind::Other,
    };
    Entry {
        name,
        kind,
        size: metadata.size(),
        mode: metadata.mode() & 0o7777,
        uid: metadata.uid(),
        modified_seconds: metadata.mtime(),
    }
}
