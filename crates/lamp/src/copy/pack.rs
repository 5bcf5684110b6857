//! Packs a file or directory of this computer. Links are packed as links, never followed.

use std::{
    io::{self, BufWriter, Write as _},
    path::Path,
};

use super::stream::Writer;

/// Writes `path` under `name`. Runs in a thread that may block.
pub(crate) fn pack(path: &Path, name: &str, to: Writer) -> io::Result<()> {
    let mut buffered = BufWriter::with_capacity(64 * 1024, to);
    let packed = write(path, name, &mut buffered);
    let packed = packed.and_then(|()| buffered.flush());
    if packed.is_err() {
        buffered.get_ref().tear();
    }
    packed
}

fn write(path: &Path, name: &str, to: &mut impl io::Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(to);
    archive.follow_symlinks(false);
    archive.sparse(false);
    let found = fs_err::symlink_metadata(path)?;
    if found.is_dir() {
        archive.append_dir_all(name, path)?;
    } else {
        archive.append_path_with_name(path, name)?;
    }
    archive.finish()
}
