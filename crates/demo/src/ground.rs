//! Where the demo happens: a directory with everything in it, which goes when the demo does.
//!
//! ```text
//!  <root>/lamps         the sample repository
//!  <root>/lamp.yaml     how the server runs: one model, and nothing else
//!  <root>/policy.yaml   what its sandboxes may reach: that model
//!  <root>/data, run     what the server keeps, and its socket
//!  <root>/home          a home for what the server starts: what is written there is not the person's
//!  <root>/server.log    what it says
//! ```

use std::{
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use terminal::{report::Hint, run_directory};

use super::{mind::Mind, sample};

#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) root: PathBuf,
    /// Takes the directory away when it is dropped, if it is ours.
    temporary: Option<tempfile::TempDir>,
}

impl Ground {
    /// A new directory below `parent`, only for whoever runs this.
    pub(crate) fn temporary(parent: &Path) -> anyhow::Result<Self> {
        let private = std::fs::Permissions::from_mode(0o700);
        let made =
            tempfile::Builder::new().prefix("lamp-demo-").permissions(private).tempdir_in(parent);
        let made = made.with_context(|| {
            let what = format!("cannot make a directory in `{}`", parent.display());
            Hint::new(what, "name another place with `--dir DIR`")
        })?;
        let root = fs_err::canonicalize(made.path())?;
        Ok(Self { root, temporary: Some(made) })
    }

    /// A directory that a person named. It stays when the demo ends.
    pub(crate) fn named(path: &Path) -> anyhow::Result<Self> {
        let what = || format!("cannot use `{}`", path.display());
        let builder = || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        builder().with_context(what)?;
        if fs_err::read_dir(path)?.next().is_some() {
            let hint = "name one that is empty, or not there yet";
            bail!(Hint::new(format!("`{}` is not empty", path.display()), hint));
        }
        Ok(Self { root: fs_err::canonicalize(path)?, temporary: None })
    }

    /// Puts everything in its place.
    pub(crate) fn lay(&self, mind: &Mind) -> anyhow::Result<()> {
        fs_err::create_dir(self.home())?;
        sample::make(&self.sample())?;
        fs_err::write(self.server_file(), mind.server_file())?;
        fs_err::write(self.root.join("policy.yaml"), mind.policy_file())?;
        Ok(())
    }

    pub(crate) fn sample(&self) -> PathBuf {
        self.root.join(sample::NAME)
    }

    pub(crate) fn server_file(&self) -> PathBuf {
        self.root.join("lamp.yaml")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.run().join(run_directory::SOCKET)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("server.log")
    }

    /// Whether it is gone after the demo.
    pub(crate) const fn goes(&self) -> bool {
        self.temporary.is_some()
    }

    /// Takes it away, if it is ours to take.
    pub(crate) fn clear(self) -> anyhow::Result<()> {
        let Some(temporary) = self.temporary else {
            // The sandboxes are gone; what is left of them is an empty disk of two gigabytes.
            return match fs_err::remove_dir_all(self.data().join("sandboxes")) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
                Ok(()) | Err(_) => Ok(()),
            };
        };
        let root = self.root.display().to_string();
        temporary.close().with_context(|| {
            Hint::new(format!("cannot remove `{root}`"), "look what is in there, and remove it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_ground_is_private_and_goes() {
        let parent = tempfile::tempdir().unwrap();
        let ground = Ground::temporary(parent.path()).unwrap();
        let root = ground.root.clone();
        assert_eq!(fs_err::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        ground.lay(&Mind::Bundled("127.0.0.1:1234".parse().unwrap())).unwrap();
        assert!(root.join("lamps/lamps.py").is_file());
        ground.clear().unwrap();
        assert!(!root.exists());
    }

    #[test]
    fn a_named_ground_must_be_empty_and_stays() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("new/place");
        let ground = Ground::named(&place).unwrap();
        assert!(!ground.goes());
        ground.clear().unwrap();
        fs_err::write(place.join("mine"), "precious").unwrap();
        let refused = Ground::named(&place).unwrap_err().to_string();
        assert!(refused.ends_with("is not empty"), "{refused}");
        assert_eq!(fs_err::read_to_string(place.join("mine")).unwrap(), "precious");
    }
}
