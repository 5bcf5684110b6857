//! The socket that the server reaches a sandbox by.

use std::{
    fs,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixListener,
    },
    path::{Path, PathBuf},
};

use launcher::plan::Failure;
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    process::umask,
};

use crate::failure::{Step, refused};

const STEP: &str = "listen for the server";

/// The longest path that an address of a unix socket holds.
const ADDRESS: usize = 107;

/// A listening socket, whose file is removed unless the launch succeeds.
#[derive(Debug)]
pub(crate) struct Control {
    path: PathBuf,
    keep: Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    No,
    Yes,
}

impl Control {
    /// Listens at a path, in place of whatever stood there.
    pub(crate) fn listen(path: &str) -> Result<(Self, OwnedFd), Failure> {
        // From its first moment on, nobody else may connect.
        let before = umask(Mode::from_raw_mode(0o177));
        let mut listener = bind(Path::new(path));
        if listener.as_ref().is_err_and(|failure| failure.errno == libc::EADDRINUSE) {
            listener =
                fs::remove_file(path).step_on(STEP, path).and_then(|()| bind(Path::new(path)));
        }
        umask(before);
        let control = Self { path: path.into(), keep: Keep::No };
        Ok((control, listener?.into()))
    }

    /// The launch has succeeded.
    pub(crate) fn keep(mut self) {
        self.keep = Keep::Yes;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.keep == Keep::No {
            // It may never have been there.
            let _gone = fs::remove_file(&self.path);
        }
    }
}

fn bind(path: &Path) -> Result<UnixListener, Failure> {
    let named = path.to_string_lossy();
    if named.len() <= ADDRESS {
        return UnixListener::bind(path).step_on(STEP, &named);
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(refused(STEP, "the path has no name"));
    };
    let parent = openat(CWD, parent, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let parent = parent.step_on(STEP, &named)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", parent.as_raw_fd())).join(name);
    UnixListener::bind(short).step_on(STEP, &named)
}
