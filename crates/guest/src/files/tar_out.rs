//! Packing a file, or all that is below a directory.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufWriter, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, access},
    io::Errno,
};
use tar::{Builder, EntryType, Header, HeaderMode};

use super::{Doing, Failure, output};

/// Names are relative to the directory; a single file has its own name. Sockets, pipes and devices are left out.
///
/// All of it is looked at before the archive is begun. What may not be read is then a refusal that names it, where half an archive would
/// look like one that broke off on the way.
pub(super) fn tar_out(path: &str) -> Result<(), Failure> {
    let path = Path::new(path);
    let metadata = fs::metadata(path).doing(|| path.display().to_string())?;
    if metadata.is_dir() {
        all_below(path, |path, _name, metadata| readable(path, metadata))?;
    } else {
        readable(path, &metadata)?;
    }
    let mut archive = Builder::new(BufWriter::with_capacity(64 * 1024, output()?));
    if metadata.is_dir() {
        all_below(path, |path, name, metadata| add(&mut archive, path, name, metadata))?;
    } else {
        let name = path.file_name().map_or_else(|| path.to_owned(), PathBuf::from);
        add(&mut archive, path, &name, &metadata)?;
    }
    let mut output = archive.into_inner().doing(|| "the archive's end".to_owned())?;
    output.flush().doing(|| "the archive's end".to_owned())
}

/// Visits all that is below a directory, with its name from there.
fn all_below(
    root: &Path,
    mut visit: impl FnMut(&Path, &Path, &Metadata) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut open = vec![PathBuf::new()];
    while let Some(directory) = open.pop() {
        let place = root.join(&directory);
        for entry in fs::read_dir(&place).doing(|| place.display().to_string())? {
            let entry = entry.doing(|| place.display().to_string())?;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // It vanished while we looked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Failure::new(entry.path().display().to_string(), &error)),
            };
            let name = directory.join(entry.file_name());
            visit(&entry.path(), &name, &metadata)?;
            if metadata.is_dir() {
                open.push(name);
            }
        }
    }
    Ok(())
}

fn readable(path: &Path, metadata: &Metadata) -> Result<(), Failure> {
    if !metadata.is_file() {
        return Ok(());
    }
    match access(path, Access::READ_OK) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error).doing(|| path.display().to_string()),
    }
}

fn add(
    archive: &mut Builder<impl Write>,
    path: &Path,
    name: &Path,
    metadata: &Metadata,
) -> Result<(), Failure> {
    let shown = || path.display().to_string();
    let mut header = Header::new_gnu();
    header.set_metadata_in_mode(metadata, HeaderMode::Complete);
    let kind = metadata.file_type();
    if kind.is_dir() {
        return archive.append_data(&mut header, name.join(""), io::empty()).doing(shown);
    }
    if kind.is_symlink() {
        let target = fs::read_link(path).doing(shown)?;
        header.set_size(0);
        return archive.append_link(&mut header, name, target).doing(shown);
    }
    if !kind.is_file() {
        return Ok(());
    }
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).doing(shown)?;
    let now = file.metadata().doing(shown)?;
    if !now.is_file() {
        return Ok(());
    }
    header.set_metadata_in_mode(&now, HeaderMode::Complete);
    header.set_entry_type(EntryType::Regular);
    archive.append_data(&mut header, name, exactly(file, now.len())).doing(shown)
}

/// The header says how long the file is. If it grows or shrinks meanwhile, the archive must not break.
fn exactly(file: File, length: u64) -> impl Read {
    file.chain(io::repeat(0)).take(length)
}
