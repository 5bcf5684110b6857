//! Where a running server's sockets are: a directory for its owner only, gone after a restart of the computer.

use std::{
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use crate::{data_directory::Account, environment::Environment, report::Hint};

/// The name of the server's socket.
pub const SOCKET: &str = "lamp.sock";

/// Where it is when nobody names another: where the system keeps such things, or beside the data.
pub fn usual(environment: &Environment, account: Account, data: &Path) -> PathBuf {
    if account == Account::Root {
        return PathBuf::from("/run/lamplighter");
    }
    // The XDG specification says to ignore a relative path.
    match environment.xdg_runtime_dir.as_ref().filter(|path| path.is_absolute()) {
        Some(directory) => directory.join("lamplighter"),
        None => data.join("run"),
    }
}

/// Makes it, or makes sure that nobody else can look into the one that is there.
pub fn make(path: &Path) -> anyhow::Result<()> {
    let what = || format!("cannot use `{}` for sockets", path.display());
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(what)?;
    let found = fs_err::symlink_metadata(path).with_context(what)?;
    let owner = rustix::process::geteuid().as_raw();
    if !found.is_dir() || found.uid() != owner || found.mode() & 0o077 != 0 {
        let hint = format!("`chmod 700 {}`, or name another with `--run DIR`", path.display());
        return Err(anyhow::anyhow!("others can look into it").context(Hint::new(what(), hint)));
    }
    Ok(())
}

/// Takes the place of a server that is gone, and not of one that is there.
pub async fn bind(path: &Path) -> anyhow::Result<tokio::net::UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;
    if tokio::net::UnixStream::connect(path).await.is_ok() {
        let hint = "stop it first, or name another directory with `--run DIR`";
        bail!(Hint::new(format!("a server already answers at `{}`", path.display()), hint));
    }
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    let listener = tokio::net::UnixListener::bind(path)
        .with_context(|| format!("cannot listen at `{}`", path.display()))?;
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_usual_place_is_the_systems() {
        let ann = Account::Ordinary { uid: 1000 };
        let xdg = Environment {
            xdg_runtime_dir: Some(PathBuf::from("/run/user/1000")),
            ..Environment::default()
        };
        let data = Path::new("/data");
        assert_eq!(usual(&xdg, ann, data), Path::new("/run/user/1000/lamplighter"));
        assert_eq!(usual(&xdg, Account::Root, data), Path::new("/run/lamplighter"));
        assert_eq!(usual(&Environment::default(), ann, data), Path::new("/data/run"));
    }

    #[test]
    fn a_directory_that_others_can_enter_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        make(&run).unwrap();
        make(&run).unwrap();
        assert_eq!(fs_err::metadata(&run).unwrap().permissions().mode() & 0o777, 0o700);
        fs_err::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make(&run).is_err());
    }

    #[tokio::test]
    async fn a_dead_socket_is_replaced_and_a_living_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(SOCKET);
        let first = bind(&path).await.unwrap();
        assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(bind(&path).await.is_err());
        drop(first);
        bind(&path).await.unwrap();
    }
}
