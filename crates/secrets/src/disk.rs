//! Files that only their owner reads, and that are there whole or not at all.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::Path,
};

use files::Durability;
use rustix::fs::OFlags;
use zeroize::Zeroizing;

/// Makes `directory` for its owner alone, or checks that it is.
pub(crate) fn own_directory(directory: &Path) -> io::Result<()> {
    if let Err(error) = fs::DirBuilder::new().mode(0o700).create(directory)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    let found = fs::symlink_metadata(directory)?;
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Reads a file of at most `limit` bytes that nobody else may read or write. `None` if there is none.
pub(crate) fn read_private(path: &Path, limit: usize) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let opened = fs::OpenOptions::new()
        .read(true)
        .custom_flags(i32::from_ne_bytes(flags.to_ne_bytes()))
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
    }
    if found.mode() & 0o077 != 0 {
        let message = format!(
            "others may read or write it (mode {:04o}); take that away with `chmod 600`",
            found.mode() & 0o7777
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        let message =
            format!("it belongs to user {}, not to the one that this server runs as", found.uid());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let length = usize::try_from(found.len()).unwrap_or(usize::MAX);
    if length > limit {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it has more than {limit} bytes"),
        ));
    }
    // Room for all of it, so that growing leaves no copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length + 1));
    file.take(u64::try_from(limit).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Puts `bytes` at `path`, instead of what was there, so that a crash leaves the one or the other.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::write(path, bytes, files::PRIVATE, Durability::Synced)
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
