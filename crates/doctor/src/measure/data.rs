//! Looks at the data directory, or at the place where it would be made. Leaves nothing behind.

use std::{
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::Access as Permission;

use super::super::{
    host::{Data, Disk, Place},
    mounts::{self, Mount},
};

pub(crate) fn measure(directory: &Path, mounts: &[Mount]) -> Data {
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let nearest = nearest_existing(&directory);
    Data { place: place(&directory, &nearest), disk: disk(&nearest, mounts), directory }
}

/// `path`, or the nearest directory above it that is there.
fn nearest_existing(path: &Path) -> PathBuf {
    // A dangling link is there, and is in the way.
    let there = path.ancestors().find(|it| it.symlink_metadata().is_ok());
    there.unwrap_or(Path::new("/")).to_owned()
}

fn place(directory: &Path, nearest: &Path) -> Place {
    if nearest == directory {
        let metadata = match fs_err::metadata(directory) {
            Ok(metadata) => metadata,
            Err(error) => return Place::Refused { error: plain(&error) },
        };
        if !metadata.is_dir() {
            return Place::NotADirectory;
        }
        return match write_and_remove(directory) {
            Ok(()) => Place::Written { mode: metadata.permissions().mode() },
            Err(error) => Place::Refused { error: plain(&error) },
        };
    }
    let above = nearest.to_owned();
    if !above.is_dir() {
        return Place::NotCreatable { above, error: "not a directory".to_owned() };
    }
    match rustix::fs::access(&above, Permission::WRITE_OK | Permission::EXEC_OK) {
        Ok(()) => Place::Creatable { above },
        Err(error) => Place::NotCreatable { above, error: plain(&error.into()) },
    }
}

fn write_and_remove(directory: &Path) -> io::Result<()> {
    let file = directory.join(format!(".lamp-doctor-{}", std::process::id()));
    let written =
        fs_err::OpenOptions::new().write(true).create_new(true).open(&file).and_then(|mut file| {
            file.write_all(b"lamp doctor was here")?;
            file.sync_all()
        });
    let removed = fs_err::remove_file(&file);
    written.and(removed)
}

/// The system's own words, without the path that the finding names anyway.
fn plain(error: &io::Error) -> String {
    error.kind().to_string()
}

fn disk(nearest: &Path, mounts: &[Mount]) -> Option<Disk> {
    let counts = rustix::fs::statvfs(nearest).ok()?;
    let real = fs_err::canonicalize(nearest).ok()?;
    Some(Disk {
        free_bytes: counts.f_bavail.saturating_mul(counts.f_frsize),
        // A file system that makes inodes as it needs them says 0 of 0.
        free_inodes: (counts.f_files > 0).then_some(counts.f_favail),
        file_system: mounts::holding(mounts, &real).map(|mount| mount.file_system.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(path: &Path) -> Place {
        measure(path, &[]).place
    }

    #[test]
    fn a_directory_is_written_and_left_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        fs_err::set_permissions(directory.path(), private).unwrap();
        let place = place_of(directory.path());
        assert!(matches!(place, Place::Written { mode } if mode & 0o777 == 0o700), "{place:?}");
        assert_eq!(fs_err::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_directory_is_not_made() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("a/b");
        assert!(matches!(place_of(&path), Place::Creatable { above: it } if it == above.path()));
        assert_eq!(fs_err::read_dir(above.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let above = tempfile::tempdir().unwrap();
        let file = above.path().join("file");
        fs_err::write(&file, "").unwrap();
        assert!(matches!(place_of(&file), Place::NotADirectory));
        assert!(matches!(place_of(&file.join("below")), Place::NotCreatable { .. }));
        let link = above.path().join("link");
        fs_err::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(matches!(place_of(&link), Place::Refused { .. }));
    }

    #[test]
    fn the_disk_is_measured_even_before_the_directory_is_there() {
        let above = tempfile::tempdir().unwrap();
        let disk = measure(&above.path().join("later"), &[]).disk.unwrap();
        assert!(disk.free_bytes > 0);
    }
}
