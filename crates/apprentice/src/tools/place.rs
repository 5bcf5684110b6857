//! Which file a path means.
//!
//! This is a rail, not a wall: `shell` reaches whatever the sandbox lets it reach. It keeps a model that is mistaken, or misled by a link in
//! the tree, from changing a file that nobody will look at.

use std::path::{Component, Path, PathBuf};

const LONGEST: usize = 4096;

/// The path as it is meant, if it can be one at all.
pub(super) fn meant(root: &Path, path: &str) -> Option<PathBuf> {
    let is_path = !path.is_empty() && path.len() <= LONGEST && !path.contains('\0');
    is_path.then(|| root.join(path))
}

/// For reading: anywhere.
pub(super) fn to_read(root: &Path, path: &str) -> Result<PathBuf, String> {
    meant(root, path).ok_or_else(|| {
        format!("the path must have 1 to {LONGEST} bytes, and none of them may be zero")
    })
}

/// For changing: below the root, where links lead to, and not git's own.
pub(super) fn to_change(root: &Path, path: &str) -> Result<PathBuf, String> {
    let meant = to_read(root, path)?;
    let root = root.canonicalize().map_err(|error| format!("the tree is gone: {error}"))?;
    let real = real(&meant).map_err(|why| format!("`{path}` {why}"))?;
    let inside = real.strip_prefix(&root).map_err(|_| {
        format!("`{path}` is not in the tree; only files below its root are edited")
    })?;
    if inside.as_os_str().is_empty() {
        return Err(format!("`{path}` is the tree itself"));
    }
    if inside.components().any(|part| part.as_os_str() == ".git") {
        return Err(format!("`{path}` belongs to git; use git's commands"));
    }
    Ok(real)
}

/// The path without links. Its last parts need not exist yet.
fn real(path: &Path) -> Result<PathBuf, String> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match existing.symlink_metadata() {
            Ok(_) => break,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot be looked at: {error}")),
        }
        match existing.components().next_back() {
            Some(Component::Normal(part)) => missing.push(part),
            Some(_) | None => return Err("leads through a directory that is not there".to_owned()),
        }
        existing = existing.parent().ok_or("leads nowhere")?;
    }
    let mut real = existing.canonicalize().map_err(|_| "is a link that leads nowhere")?;
    real.extend(missing.iter().rev());
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_root_are_changed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("tree");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(home.path().join("outside"), "x").unwrap();
        std::os::unix::fs::symlink("../outside", root.join("link")).unwrap();
        std::os::unix::fs::symlink("/", root.join("up")).unwrap();
        std::os::unix::fs::symlink("src", root.join("inner")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
        std::os::unix::fs::symlink(".git", root.join("git")).unwrap();
        for path in ["src/a.rs", "new/deep/a.rs", "inner/a.rs", "./src/../b", "src/.gitignore"] {
            assert!(to_change(&root, path).is_ok(), "{path}");
        }
        let absolute = root.join("c").to_string_lossy().into_owned();
        assert!(to_change(&root, &absolute).is_ok());
        for path in [
            "",
            ".",
            "..",
            "../outside",
            "../new",
            "link",
            "up/etc/passwd",
            "up/tmp/new",
            "/etc/passwd",
            "dangling",
            "dangling/x",
            "missing/../../outside",
            ".git/hooks/pre-commit",
            "git/config",
            "src/../.git/config",
            "a\0b",
        ] {
            assert!(to_change(&root, path).is_err(), "{path}");
        }
        assert!(to_change(&root, &"x/".repeat(3000)).is_err());
    }
}
